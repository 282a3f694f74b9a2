import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

/// A stream of more than one block. Each block is a part, kept until the server has verified it. After that only the
/// server has the block, and must still have it after a lost connection.
final class StreamUpload: UploadInParts {
    private struct State {
        /// The number of blocks that were read.
        var count: UInt64 = 0
        /// The bytes in these blocks.
        var read: UInt64 = 0
        var hasEnded = false
        /// Whether an upload was handed out that reads the next block.
        var isBeingRead = false
        /// Blocks that the server has not verified, by index.
        var held: [UInt64: StreamBlock] = [:]
        /// Indices of the held blocks that no lane is sending.
        var waiting: ArraySlice<UInt64> = []
        /// The digests of all blocks, one after the other; zeros if not digested yet.
        var digests: [UInt8] = []
        /// The bytes that the server has of each part under way.
        var progress: [UploadID: UInt64] = [:]
        /// Whether the server has each block; nil unless it is being asked.
        var found: [Bool]?
        /// The bytes of the blocks that the server has.
        var compared: UInt64 = 0
        /// Whether the end was sent although the server lacks blocks.
        var hasTriedEnd = false
        /// Whether the end was handed out.
        var isEnding = false
        var isOver = false

        mutating func add(_ block: StreamBlock) {
            guard !isOver else { return }
            held[block.index] = block
            waiting.append(block.index)
            count += 1
            read += UInt64(block.count)
        }

        /// Whether the end can be handed out now; if so, notes that it is.
        mutating func takeEnd() -> Bool {
            guard hasEnded, held.isEmpty, found == nil, !isEnding, !isOver else { return false }
            isEnding = true
            return true
        }
    }

    let whole: PendingUpload

    private let stream: BlockStream
    private let function: DigestFunction
    private let state = Locked(State())

    /// - Parameters:
    ///   - first: the first block of the stream.
    ///   - stream: the rest of the stream.
    init(_ whole: PendingUpload, _ first: StreamBlock, _ stream: BlockStream, function: DigestFunction) {
        self.whole = whole
        self.stream = stream
        self.function = function
        state.withLock { $0.add(first) }
    }

    var knownSize: UInt64? { state.withLock { $0.hasEnded ? $0.read : nil } }

    var isOver: Bool { state.withLock { $0.isOver } }

    var hasMoreParts: Bool {
        state.withLock { !$0.isOver && (!$0.hasEnded || !$0.waiting.isEmpty) }
    }

    /// The next block to send, or the task to read the next block if there is room for it.
    func nextPart(_ sharing: PartSharing) -> PendingUpload? {
        enum Next {
            case block(Range<UInt64>)
            case rest
        }
        let next = state.withLock { state -> Next? in
            guard !state.isOver, state.found == nil else { return nil }
            if let index = state.waiting.popFirst(), let block = state.held[index] { return .block(block.range) }
            guard !state.hasEnded, !state.isBeingRead, state.held.count < BlockStream.mostBlocks else { return nil }
            state.isBeingRead = true
            return .rest
        }
        return switch next {
        case .block(let range): PendingUpload(.part(self, range), of: whole)
        case .rest: PendingUpload(.rest(self), of: whole)
        case nil: nil
        }
    }

    /// Reads the stream for one turn. This completes the task that `nextPart` has handed out, so that it can hand out
    /// the next one.
    ///
    /// - Returns: whether the block is full or the stream has ended, and the end of the upload if nothing is missing.
    /// - Throws: `sourceUnreadable`.
    func readOn() throws(Failure) -> (isFull: Bool, end: PendingUpload?) {
        let step = try stream.read()
        let isEnd = state.withLock { state in
            state.isBeingRead = false
            switch step {
            case .more, .noRoom: break
            case .block(let block): state.add(block)
            case .end(let block):
                if let block { state.add(block) }
                state.hasEnded = true
            }
            return state.takeEnd()
        }
        switch step {
        case .more, .noRoom: return (false, nil)
        case .block, .end: return (true, isEnd ? end : nil)
        }
    }

    private var end: PendingUpload { PendingUpload(.multipart(self), of: whole, id: whole.id) }

    func reader(of range: Range<UInt64>) throws(Failure) -> ContentReader {
        let block = state.withLock { $0.held[range.lowerBound / UInt64(Limits.blockSize)] }
        // The block is gone because the upload has ended.
        guard let block else { throw .unreadableStream }
        return ContentReader(block)
    }

    func readerOfEnd() throws(Failure) -> ContentReader { ContentReader(size: knownSize) }

    func keep(_ digests: [UInt8], of range: Range<UInt64>) {
        let start = Int(range.lowerBound / UInt64(Limits.blockSize)) * function.size
        state.withLock { state in
            let missing = start + digests.count - state.digests.count
            if missing > 0 { state.digests += [UInt8](repeating: 0, count: missing) }
            state.digests.replaceSubrange(start..<start + digests.count, with: digests)
        }
    }

    var digest: Digest { BlockTree.root(state.withLock { $0.digests }, function) }

    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64 {
        state.withLock { state in
            state.progress[part] = bytes
            let held = state.held.values.reduce(0) { $0 + UInt64($1.count) }
            return state.progress.values.reduce(state.read - min(held, state.read)) { $0.addingClamped($1) }
        }
    }

    func staged(_ part: PendingUpload) -> PendingUpload? {
        guard case .part(_, let range) = part.content else { return nil }
        let isEnd = state.withLock { state in
            state.progress[part.id] = nil
            state.held[range.lowerBound / UInt64(Limits.blockSize)] = nil
            return state.takeEnd()
        }
        return isEnd ? end : nil
    }

    func finish() -> Bool {
        state.withLock { state in
            defer {
                state.isOver = true
                state.held = [:]
                state.waiting = []
            }
            return !state.isOver
        }
    }
}

// MARK: Asking

extension StreamUpload {
    func restart() {
        state.withLock { state in
            state.progress = [:]
            state.compared = 0
            state.isBeingRead = false
            state.isEnding = false
            state.waiting = []
            state.found = [Bool](repeating: false, count: Int(state.count))
        }
    }

    func compare(_ have: Have) throws(Failure) -> UInt64 {
        state.withLock { state in
            for (number, digest) in have.digests.enumerated() {
                let (index, overflow) = have.first.addingReportingOverflow(UInt64(number))
                guard !overflow, index < state.count, state.found?[Int(index)] == false else { continue }
                let start = Int(index) * function.size
                guard start + function.size <= state.digests.count,
                    digest == Digest(function.plain, Array(state.digests[start..<start + function.size]))
                else { continue }
                state.found?[Int(index)] = true
                let block = UInt64(Limits.blockSize)
                state.compared += min(block, state.read - index * block)
            }
            return state.compared
        }
    }

    func answered() throws(Failure) -> PendingUpload? {
        let isEnd = try state.withLock { (state) throws(Failure) in
            let found = state.found.take() ?? []
            var isMissing = false
            for (index, isFound) in found.enumerated() {
                if isFound {
                    state.held[UInt64(index)] = nil
                } else if state.held[UInt64(index)] == nil {
                    isMissing = true
                }
            }
            if isMissing, state.hasTriedEnd || !state.hasEnded || !state.held.isEmpty { throw .unreadableStream }
            // The server has verified all blocks once. It may have stored the file and died before it could say so: ask
            // for the end of the upload, which the server then recognizes.
            if isMissing { state.hasTriedEnd = true }
            state.waiting = state.held.keys.sorted()[...]
            return state.takeEnd()
        }
        return isEnd ? end : nil
    }
}

extension Failure {
    /// The failure of a stream of which a block is missing on both sides.
    static let unreadableStream = Failure(
        .connectionLost,
        "The server has lost a part of what was sent before the connection broke, and a stream cannot "
            + "be read again: save it to a file to push it.")
}
