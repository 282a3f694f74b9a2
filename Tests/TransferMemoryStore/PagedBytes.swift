import TransferCodec
package import TransferModel
package import TransferSystem

/// Bytes of any length, in pages. Pages without written bytes are holes, and take no memory.
package struct PagedBytes: Sendable {
    private static let pageSize: UInt64 = 64 << 10

    /// The pages by their numbers. A page with fewer bytes than `pageSize` has zeros behind them.
    private var pages: [UInt64: [UInt8]] = [:]

    package private(set) var size: UInt64 = 0

    package init() {}

    package init(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { write($0, at: 0) }
    }

    /// The number of bytes outside of holes, in whole pages; nil without holes.
    package var filled: UInt64? {
        let present = UInt64(pages.count) * Self.pageSize
        return present < size ? present : nil
    }

    package mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
        var (rest, position) = (bytes, offset)
        while !rest.isEmpty {
            let (number, start) = (position / Self.pageSize, Int(position % Self.pageSize))
            let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(Self.pageSize) - start))
            pages[number, default: []].put(piece, at: start)
            rest = UnsafeRawBufferPointer(rebasing: rest[piece.count...])
            position += UInt64(piece.count)
        }
        size = max(size, position)
    }

    /// Fills a range with zeros, and extends the bytes to the end of the range if they are shorter.
    package mutating func clear(_ range: Range<UInt64>) {
        var position = range.lowerBound
        while position < min(range.upperBound, size) {
            let (number, start) = (position / Self.pageSize, Int(position % Self.pageSize))
            let end = min(range.upperBound, (number + 1) * Self.pageSize)
            if start == 0, end - position == Self.pageSize {
                pages[number] = nil
            } else if let count = pages[number]?.count {
                for index in start..<max(start, min(count, start + Int(end - position))) { pages[number]?[index] = 0 }
            }
            position = end
        }
        size = max(size, range.upperBound)
    }

    package mutating func truncate(to size: UInt64) {
        guard size < self.size else { return }
        let last = size / Self.pageSize
        pages = pages.filter { $0.key <= last }
        pages[last].map { pages[last] = Array($0.prefix(Int(size % Self.pageSize))) }
        if pages[last]?.isEmpty == true { pages[last] = nil }
        self.size = size
    }

    /// - Returns: the number of bytes that were read, which is smaller than the buffer only at the end.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        guard offset < size else { return 0 }
        let wanted = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: size - offset)))
        var done = 0
        while done < wanted.count {
            let position = offset + UInt64(done)
            let start = Int(position % Self.pageSize)
            let count = min(wanted.count - done, Int(Self.pageSize) - start)
            let target = UnsafeMutableRawBufferPointer(rebasing: wanted[done..<done + count])
            let page = pages[position / Self.pageSize] ?? []
            let present = page[min(start, page.count)..<min(start + count, page.count)]
            target.copyBytes(from: present)
            for index in present.count..<count { target[index] = 0 }
            done += count
        }
        return done
    }

    /// - Returns: the hole or the run of data that begins at `offset`.
    package func run(at offset: UInt64) -> FileHoles.Run {
        guard offset < size, filled != nil else { return .data }
        let first = offset / Self.pageSize
        let isHole = pages[first] == nil
        var next = first + 1
        while next * Self.pageSize < size, (pages[next] == nil) == isHole { next += 1 }
        return FileHoles.Run(count: min(next * Self.pageSize, size) - offset, isHole: isHole)
    }

    /// Whether any page that the range touches has data.
    package func hasData(in range: Range<UInt64>) -> Bool {
        guard !range.isEmpty else { return false }
        return (range.lowerBound / Self.pageSize...(range.upperBound - 1) / Self.pageSize).contains { pages[$0] != nil }
    }

    /// - Returns: nil if the bytes end before the range does.
    package func digest(of range: Range<UInt64>, _ function: DigestFunction) -> [UInt8]? {
        guard range.upperBound <= size else { return nil }
        let hasher = BlockHasher(function)
        forEachPiece(of: range) { hasher.update($0) }
        return hasher.finish()
    }

    package func digest(_ function: DigestFunction) -> Digest {
        let digester = ContentDigester(function)
        forEachPiece(of: 0..<size) { digester.update($0) { _, _ in } }
        return digester.finish().digest
    }

    /// Whether both have the same bytes, wherever they have holes.
    package func isSame(as other: PagedBytes) -> Bool {
        size == other.size && digest(.xxh128) == other.digest(.xxh128)
    }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        forEachPiece(of: 0..<size) { bytes.append(contentsOf: $0) }
        return bytes
    }

    package func forEachPiece<E: Error>(
        of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(E) -> Void
    ) throws(E) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(Self.pageSize), alignment: 16)
        defer { buffer.deallocate() }
        var position = range.lowerBound
        while position < range.upperBound {
            let wanted = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(clamping: range.upperBound - position)))
            let count = read(into: wanted, at: position)
            guard count > 0 else { return }
            try body(UnsafeRawBufferPointer(rebasing: wanted[..<count]))
            position += UInt64(count)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func put(_ bytes: UnsafeRawBufferPointer, at start: Int) {
        let end = start + bytes.count
        if count < end { append(contentsOf: repeatElement(0, count: end - count)) }
        withUnsafeMutableBytes { $0[start..<end].copyBytes(from: bytes) }
    }
}
