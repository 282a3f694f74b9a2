import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// A long file that is sent in parts, which any lane may take; one lane ends the upload when all parts are staged.
/// Before the first part, the client asks the server what it has of the file.
final class SplitUpload: UploadInParts {
    private struct State {
        /// The offset of the next part.
        var next: UInt64 = 0
        /// The bytes that the server has verified, including the blocks that it had before.
        var staged: UInt64 = 0
        /// The bytes of the server's blocks that were compared.
        var compared: UInt64 = 0
        /// The bytes that the server has of each part under way.
        var progress: [UploadID: UInt64] = [:]
        /// The indices of blocks that the server has and that are the same in the source.
        var found: Set<UInt64> = []
        /// The digests of the blocks that were read, by index. A dictionary, because the size that a file claims to
        /// have does not bound how much can be read.
        var digests: [UInt64: [UInt8]] = [:]
        var isOver = false

        /// The next bytes that the server lacks: whole blocks, or a piece of one.
        ///
        /// - Parameter partSize: returns the most bytes of the part, given the most bytes that may be left.
        mutating func nextRange(_ size: UInt64, _ partSize: (_ left: UInt64) -> UInt64) -> Range<UInt64>? {
            let block = UInt64(Limits.blockSize)
            while next < size, found.contains(next / block) { next += min(block, size - next) }
            guard !isOver, next < size else { return nil }
            let start = next
            let length = min(partSize(size - start), size - start)
            let blockEnd = block - start % block
            // A part that does not begin at the start of a block ends within that block, and so does a part that is
            // shorter than a block.
            let limit = start + (start % block == 0 && length >= block ? length : min(length, blockEnd))
            next = limit
            if !found.isEmpty {
                let blocks = start / block..<(limit - 1) / block + 1
                if let taken = blocks.first(where: found.contains) { next = taken * block }
            }
            return start..<next
        }
    }

    /// The upload that is split, with its id.
    let whole: PendingUpload

    /// The source as it was when it was split; it must be the same for every part.
    private let source: Source

    /// A source that can be read from any offset.
    enum Source {
        case file(SourceFile.Identity, SourcePlace)
        case sealed(SealedFile)
    }

    let function: DigestFunction

    /// The least bytes of a part, which keep the number of parts of a very long file below `mostParts`.
    private let leastPartSize: UInt64
    private let state = Locked(State())

    private static let blockSize = UInt64(Limits.blockSize)

    /// The most parts of one upload, because each takes memory on the server.
    private static let mostParts: UInt64 = 65_536

    /// The bytes that are read at once to compare.
    private static let readSize = 256 << 10

    /// - Parameters:
    ///   - source: the source of `whole`.
    ///   - filled: the bytes that are not in holes; nil if there are no holes.
    init(_ whole: PendingUpload, _ source: Source, filled: UInt64? = nil, function: DigestFunction) {
        self.filled = filled
        self.whole = whole
        self.source = source
        self.function = function
        size =
            switch source {
            case .file(let file, _): file.size
            case .sealed(let file): file.size
            }
        leastPartSize = (size / Self.mostParts / Self.blockSize + 1) * Self.blockSize
    }

    let size: UInt64

    let filled: UInt64?

    /// Whether it was made from the file in its present state.
    func isOf(_ pending: PendingUpload, _ reader: ContentReader) -> Bool {
        switch (source, pending.content) {
        case (.file(let file, _), .file): reader.file == file
        case (.sealed(let file), .sealed(let other)): file === other
        default: false
        }
    }

    var knownSize: UInt64? { size }

    var isOver: Bool { state.withLock { $0.isOver } }

    var hasMoreParts: Bool { state.withLock { !$0.isOver && $0.next < size } }

    /// Forgets what the server has. The digests of the blocks that were read remain valid.
    func restart() {
        state.withLock { state in
            state = State(digests: state.digests, isOver: state.isOver)
        }
    }

    func nextPart(_ sharing: PartSharing) -> PendingUpload? {
        state.withLock { state in
            state.nextRange(size) { sharing.partSize(left: $0, least: leastPartSize) }
        }.map { PendingUpload(.part(self, $0), of: whole) }
    }

    /// The end of the upload, if the server has all parts; otherwise nil.
    var end: PendingUpload? {
        let isComplete = state.withLock { $0.staged == size && !$0.isOver }
        return isComplete ? PendingUpload(.multipart(self), of: whole, id: whole.id) : nil
    }

    /// A reader of the bytes in a range.
    ///
    /// - Throws: the failures of `SourceFile`, and `sourceChanged`.
    func reader(of range: Range<UInt64>) throws(Failure) -> ContentReader {
        switch source {
        case .file(let identity, let place):
            let file = try SourceFile(place, range: range)
            guard file.identity == identity else { throw .changed }
            return ContentReader(file)
        case .sealed(let file): return try file.open(range)
        }
    }

    /// Checks that the file is still the same.
    func readerOfEnd() throws(Failure) -> ContentReader { try reader(of: 0..<size) }

    func keep(_ digests: [UInt8], of range: Range<UInt64>) throws(Failure) {
        let first = range.lowerBound / Self.blockSize
        guard isWholeBlocks(range) else {
            // With the last piece of a block, the whole block is read again, because its pieces may be sent in any
            // order.
            let block = self.range(ofBlock: first)
            guard let block, block.upperBound == range.upperBound else { return }
            let digest = try self.digest(of: block)
            return state.withLock { $0.digests[first] = digest }
        }
        state.withLock { state in
            for number in 0..<digests.count / function.size {
                let start = number * function.size
                state.digests[first + UInt64(number)] = Array(digests[start..<start + function.size])
            }
        }
    }

    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64 {
        state.withLock { state in
            state.progress[part] = bytes
            return state.progress.values.reduce(state.staged) { $0.addingClamped($1) }
        }
    }

    func staged(_ part: PendingUpload) -> PendingUpload? {
        guard case .part(_, let range) = part.content else { return nil }
        state.withLock { state in
            state.progress[part.id] = nil
            state.staged += UInt64(range.count)
        }
        return end
    }

    var digest: Digest {
        let blocks = state.withLock { $0.digests }
        return BlockTree.root(blocks.sorted { $0.key < $1.key }.flatMap(\.value), function)
    }

    func finish() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }
}

extension SplitUpload {
    func compare(_ have: Have) throws(Failure) -> UInt64 {
        for (number, digest) in have.digests.enumerated() {
            let index = have.first + UInt64(number)
            guard let range = range(ofBlock: index), !isOver else { continue }
            let known = state.withLock { $0.digests[index] }
            let own = if let known { known } else { try self.digest(of: range) }
            let isSame = digest == Digest(function.plain, own)
            state.withLock { state in
                state.digests[index] = own
                state.compared += UInt64(range.count)
                guard isSame, state.found.insert(index).inserted else { return }
                state.staged += UInt64(range.count)
            }
        }
        return state.withLock { $0.compared }
    }

    func answered() throws(Failure) -> PendingUpload? { end }

    private func isWholeBlocks(_ range: Range<UInt64>) -> Bool {
        range.lowerBound.isMultiple(of: Self.blockSize)
            && (range.upperBound == size || range.upperBound.isMultiple(of: Self.blockSize))
    }

    /// - Returns: nil if the file has no such block.
    private func range(ofBlock index: UInt64) -> Range<UInt64>? {
        let (start, overflow) = index.multipliedReportingOverflow(by: Self.blockSize)
        guard !overflow, start < size else { return nil }
        return start..<start + min(Self.blockSize, size - start)
    }

    private func digest(of range: Range<UInt64>) throws(Failure) -> [UInt8] {
        let source = try reader(of: range)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let hasher = BlockHasher(function)
        var left = range.count
        while left > 0 {
            let count = try source.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(left)))
            guard count > 0 else { throw .changed }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            left -= count
        }
        return hasher.finish()
    }
}
