import Synchronization
import TransferModel
import TransferPorts

/// The right of one connection to write some bytes of a multipart upload.
final class PartClaim: Sendable {
    /// The claimed bytes of the upload.
    let range: Range<UInt64>

    /// The number of the connection that has the claim.
    let connection: Int

    /// The upload's epoch when the bytes were claimed; nil if the store records no parts.
    let epoch: UInt64?

    /// Whether this is a piece of a block, so that its digest is not a block digest of the upload.
    let isPiece: Bool

    private let multipart: MultipartUpload
    private let sent = Atomic<UInt64>(0)
    let staged: any StagedContent

    init(
        _ range: Range<UInt64>, isPiece: Bool = false, connection: Int, epoch: UInt64? = nil,
        of multipart: MultipartUpload, in staged: any StagedContent
    ) {
        (self.range, self.isPiece, self.connection, self.epoch) = (range, isPiece, connection, epoch)
        (self.multipart, self.staged) = (multipart, staged)
    }

    /// - Parameter offset: offset in the part; the bytes must lie in the part.
    /// - Throws: `incomplete` if another connection has taken the claim over; errors of the store.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        try multipart.beginWriting(self)
        defer { multipart.endWriting(self) }
        try staged.write(bytes, at: range.lowerBound + offset)
        sent.wrappingAdd(UInt64(bytes.count), ordering: .relaxed)
    }

    /// Bytes that were written, without holes.
    var brought: UInt64 { sent.load(ordering: .relaxed) }

    /// Writes zeros that need no room.
    ///
    /// - Parameter range: the range in the part.
    func clear(_ range: Range<UInt64>) throws(Failure) {
        try multipart.beginWriting(self)
        defer { multipart.endWriting(self) }
        try staged.clear(self.range.lowerBound + range.lowerBound..<self.range.lowerBound + range.upperBound)
    }

    /// Ends the claim when all bytes are written and verified.
    ///
    /// - Parameter digests: concatenated digests of the claimed blocks; ignored for a piece of a block.
    /// - Throws: `incomplete` if another connection has taken the claim over.
    func complete(digests: [UInt8]) throws(Failure) {
        try multipart.complete(self, digests: digests)
    }

    /// Gives the claim up. Only the whole blocks that were written count.
    ///
    /// - Parameter digests: the digests of these blocks, concatenated.
    func withdraw(digests: [UInt8]) {
        multipart.withdraw(self, digests: digests)
    }
}

/// The verified parts of an upload, in order and without overlaps. They are found by binary search, because there can
/// be one for each block, and more for blocks that arrived in pieces.
struct VerifiedParts {
    struct Part {
        let recorded: RecordedPart
        /// The number of the connection that sent it; `found` if the content was there before.
        let connection: Int

        var range: Range<UInt64> { recorded.range }
        var digests: [UInt8] { recorded.digests }
        var isPiece: Bool { recorded.isPiece }

        /// A number below those of all connections.
        static let found = -1

        init(_ recorded: RecordedPart, connection: Int) { (self.recorded, self.connection) = (recorded, connection) }
    }

    /// Digests of complete blocks whose pieces came over several connections, by the index of the block.
    private var blockDigests: [UInt64: [UInt8]] = [:]
    private var parts: [Part] = []

    init() {}

    /// Takes over the parts that the store has recorded.
    ///
    /// - Parameter known: the parts that this server knows, with their connections.
    init(_ recorded: [RecordedPart], as known: VerifiedParts) {
        for part in recorded {
            insertIfFree(Part(part, connection: known.newestConnection(in: part.range) ?? Part.found))
        }
    }

    var isEmpty: Bool { parts.isEmpty }

    /// Bytes of all the parts.
    private(set) var size: UInt64 = 0

    /// The number of parts that are pieces of blocks.
    private(set) var pieces = 0

    /// The end of the last part.
    var end: UInt64 { parts.last?.range.upperBound ?? 0 }

    /// The offset of the first missing byte.
    var contiguousEnd: UInt64 {
        var reached: UInt64 = 0
        for part in parts {
            guard part.range.lowerBound == reached else { break }
            reached = part.range.upperBound
        }
        return reached
    }

    /// The number of the newest connection that sent any of the bytes.
    func newestConnection(in range: Range<UInt64>) -> Int? {
        parts[indices(in: range)].lazy.map(\.connection).max()
    }

    /// Adds a part, and replaces other parts where they overlap it.
    mutating func insert(_ part: Part) {
        remove(in: part.range)
        let index = indices(in: part.range).lowerBound
        replace(index..<index, with: [part])
    }

    /// Removes the bytes. The rest of their blocks stays, as pieces.
    mutating func remove(in range: Range<UInt64>) {
        let overlapping = indices(in: range)
        guard !overlapping.isEmpty else { return }
        let rest = parts[overlapping].flatMap { part in
            part.recorded.without(range).map { Part($0, connection: part.connection) }
        }
        for part in parts[overlapping] where part.isPiece { blockDigests[part.block] = nil }
        replace(overlapping, with: rest)
    }

    private mutating func replace(_ indices: Range<Int>, with new: [Part]) {
        size -= Self.size(of: parts[indices])
        pieces -= parts[indices].count(where: \.isPiece)
        parts.replaceSubrange(indices, with: new)
        size += Self.size(of: new[...])
        pieces += new.count(where: \.isPiece)
    }

    /// Whether the parts have every one of the bytes.
    func cover(_ range: Range<UInt64>) -> Bool {
        var end = range.lowerBound
        for part in parts[indices(in: range)] {
            guard part.range.lowerBound <= end else { return false }
            end = part.range.upperBound
        }
        return end >= range.upperBound
    }

    /// Sets the digest of a block that is complete in pieces. It stays known which connection has sent each piece.
    mutating func complete(_ block: Range<UInt64>, digest: [UInt8]) {
        guard cover(block) else { return }
        let indices = indices(in: block)
        var runs: [Part] = []
        for part in parts[indices] {
            guard let last = runs.last, last.connection == part.connection else {
                runs.append(part)
                continue
            }
            let range = last.range.lowerBound..<part.range.upperBound
            runs[runs.count - 1] = Part(RecordedPart(range, digests: []), connection: part.connection)
        }
        if runs.count == 1 {
            runs = [Part(RecordedPart(block, digests: digest), connection: runs[0].connection)]
        } else {
            blockDigests[block.lowerBound / UInt64(Limits.blockSize)] = digest
        }
        replace(indices, with: runs)
    }

    /// Parts don't overlap, so their sizes can be added.
    private static func size(of parts: ArraySlice<Part>) -> UInt64 {
        parts.reduce(0) { $0 + ($1.range.upperBound - $1.range.lowerBound) }
    }

    /// Adds a part unless it overlaps another one.
    mutating func insertIfFree(_ part: Part) {
        if indices(in: part.range).isEmpty { insert(part) }
    }

    /// Calls `body` for every block that has a digest, in order.
    func forEachBlock(digestSize: Int, _ body: (_ index: UInt64, _ digest: ArraySlice<UInt8>) -> Void) {
        var next: UInt64 = 0
        for part in parts {
            if part.isPiece {
                guard part.block >= next, let digest = blockDigests[part.block] else { continue }
                body(part.block, digest[...])
                next = part.block + 1
            }
            for number in 0..<part.digests.count / digestSize {
                let start = number * digestSize
                body(part.block + UInt64(number), part.digests[start..<start + digestSize])
            }
        }
    }

    /// The blocks that are complete in pieces and were not digested since the last piece arrived.
    ///
    /// - Parameter total: bytes of the upload, all of which have arrived.
    func undigestedBlocks(of total: UInt64) -> [Range<UInt64>] {
        let size = UInt64(Limits.blockSize)
        return parts.filter { $0.isPiece && $0.beginsBlock && blockDigests[$0.block] == nil }.map { part in
            part.range.lowerBound..<part.range.lowerBound + min(size, total - part.range.lowerBound)
        }
    }

    /// The digests of all blocks, concatenated.
    ///
    /// - Parameter total: bytes of the upload.
    /// - Returns: nil if a byte is missing, if there are no parts at all (even if `total` is 0), or if a block in
    ///   pieces is not digested.
    func digests(total: UInt64) -> [UInt8]? {
        var all: [UInt8] = []
        var end: UInt64 = 0
        for part in parts {
            guard part.range.lowerBound == end else { return nil }
            all += part.digests
            if part.isPiece {
                guard let digest = blockDigests[part.block] else { return nil }
                if part.beginsBlock { all += digest }
            }
            end = part.range.upperBound
        }
        return end == total && !parts.isEmpty ? all : nil
    }

    /// The indices of the parts that have any of the bytes.
    private func indices(in range: Range<UInt64>) -> Range<Int> {
        let first = firstIndex { $0.range.upperBound > range.lowerBound }
        let end = firstIndex { $0.range.lowerBound >= range.upperBound }
        return first..<max(first, end)
    }

    /// - Parameter isSo: false for some parts at the front and true for all others.
    private func firstIndex(where isSo: (Part) -> Bool) -> Int {
        var found = 0..<parts.count
        while !found.isEmpty {
            let middle = found.lowerBound + found.count / 2
            found = isSo(parts[middle]) ? found.lowerBound..<middle : middle + 1..<found.upperBound
        }
        return found.lowerBound
    }
}

extension VerifiedParts.Part {
    private static let blockSize = UInt64(Limits.blockSize)

    /// The index of the first block that the part has bytes of.
    fileprivate var block: UInt64 { range.lowerBound / Self.blockSize }

    fileprivate var beginsBlock: Bool { range.lowerBound % Self.blockSize == 0 }
}

extension Range<UInt64> {
    /// Whether the range consists of whole blocks; the last block of the content may be short.
    func isWholeBlocks(of total: UInt64) -> Bool {
        let block = UInt64(Limits.blockSize)
        return lowerBound.isMultiple(of: block) && (upperBound == total || upperBound.isMultiple(of: block))
    }

    /// - Parameter total: bytes of the content.
    /// - Returns: the block that the first byte of the range is in.
    func block(of total: UInt64) -> Range<UInt64>? {
        let block = UInt64(Limits.blockSize)
        let start = lowerBound / block * block
        return start < total ? start..<start + Swift.min(block, total - start) : nil
    }

    /// The first `count` bytes of the range, or all of them.
    func prefix(_ count: UInt64) -> Range<UInt64> {
        upperBound - lowerBound > count ? lowerBound..<lowerBound + count : self
    }
}
