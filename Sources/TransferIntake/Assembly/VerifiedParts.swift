import TransferModel

/// The parts of an upload that are there and verified: in order, none overlapping another, found by binary search,
/// because there can be one for each block.
struct VerifiedParts {
    struct Part {
        let range: Range<UInt64>
        /// The number of the connection that brought it; `found` when it was there before.
        let connection: Int
        /// Of its blocks, one after the other.
        let digests: [UInt8]

        /// Older than every connection.
        static let found = -1
    }

    private var parts: [Part] = []

    var isEmpty: Bool { parts.isEmpty }

    /// Bytes of all of them.
    private(set) var size: UInt64 = 0

    /// Where the last of them ends.
    var end: UInt64 { parts.last?.range.upperBound ?? 0 }

    /// Where the first byte is missing.
    var contiguousEnd: UInt64 {
        var reached: UInt64 = 0
        for part in parts {
            guard part.range.lowerBound == reached else { break }
            reached = part.range.upperBound
        }
        return reached
    }

    /// The number of the newest connection that brought any of the bytes.
    func newestConnection(in range: Range<UInt64>) -> Int? {
        parts[indices(in: range)].lazy.map(\.connection).max()
    }

    /// Keeps a part in place of all that overlap it.
    mutating func insert(_ part: Part) {
        replace(indices(in: part.range), with: [part])
    }

    /// Forgets all parts that have any of the bytes.
    mutating func remove(in range: Range<UInt64>) {
        replace(indices(in: range), with: [])
    }

    private mutating func replace(_ indices: Range<Int>, with new: [Part]) {
        size -= Self.size(of: parts[indices])
        parts.replaceSubrange(indices, with: new)
        size += Self.size(of: new[...])
    }

    /// Parts don't overlap, so their bytes can be counted.
    private static func size(of parts: ArraySlice<Part>) -> UInt64 {
        parts.reduce(0) { $0 + ($1.range.upperBound - $1.range.lowerBound) }
    }

    /// Keeps a part unless it overlaps another.
    mutating func insertIfFree(_ part: Part) {
        if indices(in: part.range).isEmpty { insert(part) }
    }

    /// Every block with its digest, in order.
    func forEachBlock(digestSize: Int, _ body: (_ index: UInt64, _ digest: ArraySlice<UInt8>) -> Void) {
        for part in parts {
            let first = part.range.lowerBound / UInt64(Limits.blockSize)
            for number in 0..<part.digests.count / digestSize {
                let start = number * digestSize
                body(first + UInt64(number), part.digests[start..<start + digestSize])
            }
        }
    }

    /// The digests of all blocks, one after the other.
    ///
    /// - Parameter total: bytes of the upload.
    /// - Returns: nothing when a byte is missing, or all of them: what nobody has brought is not there, also where nothing
    ///   was declared.
    func digests(total: UInt64) -> [UInt8]? {
        var digests: [UInt8] = []
        var end: UInt64 = 0
        for part in parts {
            guard part.range.lowerBound == end else { return nil }
            digests += part.digests
            end = part.range.upperBound
        }
        return end == total && !parts.isEmpty ? digests : nil
    }

    /// Of the parts that have any of the bytes.
    private func indices(in range: Range<UInt64>) -> Range<Int> {
        let first = firstIndex { $0.range.upperBound > range.lowerBound }
        let end = firstIndex { $0.range.lowerBound >= range.upperBound }
        return first..<max(first, end)
    }

    /// - Parameter isSo: false of some parts at the front and true of all others.
    private func firstIndex(where isSo: (Part) -> Bool) -> Int {
        var found = 0..<parts.count
        while !found.isEmpty {
            let middle = found.lowerBound + found.count / 2
            found = isSo(parts[middle]) ? found.lowerBound..<middle : middle + 1..<found.upperBound
        }
        return found.lowerBound
    }
}
