import TransferCodec
import TransferProtocol
import TransferSystem

/// A long file on its way in parts, which any lane may take; afterwards one of them ends it.
final class SplitUpload: Sendable {
    private struct State {
        /// Where the next part starts.
        var next: UInt64 = 0
        /// Bytes in parts that the server has verified.
        var staged: UInt64 = 0
        /// How far the server is with each of the others.
        var progress: [UploadID: UInt64] = [:]
        /// Of the blocks of each part that was read, one after the other, by where the part starts. They are kept as they
        /// come: what size a file claims to have says nothing of how much can be read of it.
        var digests: [UInt64: [UInt8]] = [:]
        var isOver = false
    }

    /// What is split. Its id is the upload's.
    let whole: PendingUpload

    /// As it was when it was split; every part must find it so.
    let file: SourceFile.Identity

    let function: DigestFunction

    private let path: String
    private let followsLinks: Bool
    private let partSize: UInt64
    private let state = Locked(State())

    /// Bytes of a part: long enough that its frames cost nothing, short enough that the lanes end together and that
    /// little is sent again after a lost connection.
    private static let shortestPart = 4 * UInt64(Limits.blockSize)

    /// Parts of one upload at most: each is a name in the server's memory.
    private static let mostParts: UInt64 = 65_536

    /// From this size on a file is split.
    static let smallestSize = 2 * shortestPart

    /// - Parameter path: the source of `whole`.
    init(_ whole: PendingUpload, path: String, followsLinks: Bool, file: SourceFile.Identity, function: DigestFunction)
    {
        self.whole = whole
        self.path = path
        self.followsLinks = followsLinks
        self.file = file
        self.function = function
        let block = UInt64(Limits.blockSize)
        let share = (file.size / Self.mostParts / block + 1) * block
        partSize = max(Self.shortestPart, share)
    }

    var size: UInt64 { file.size }

    /// Whether it has its report, or parts of it are no longer wanted for another reason.
    var isOver: Bool { state.withLock { $0.isOver } }

    /// - Returns: nothing when all parts are handed out.
    func nextPart() -> PendingUpload? {
        let range = state.withLock { state -> Range<UInt64>? in
            guard !state.isOver, state.next < size else { return nil }
            let start = state.next
            state.next = min(size, start + partSize)
            return start..<state.next
        }
        return range.map { PendingUpload(.part(self, $0), of: whole) }
    }

    /// A reader of the bytes in a range.
    ///
    /// - Throws: as `SourceFile`, and `sourceChanged`.
    func open(_ range: Range<UInt64>) throws(LocalFailure) -> SourceFile {
        let source = try SourceFile(path: path, followsLinks: followsLinks, range: range)
        guard source.identity == file else { throw .changed }
        return source
    }

    /// Keeps the digests of a part's blocks, in place of those of an earlier attempt at it.
    ///
    /// - Parameter offset: where the part starts.
    func keep(_ digests: [UInt8], from offset: UInt64) {
        state.withLock { $0.digests[offset] = digests }
    }

    /// How far the server is with the whole, when it is so far with a part.
    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64 {
        state.withLock { state in
            state.progress[part] = bytes
            return state.progress.values.reduce(state.staged, +)
        }
    }

    /// The server has verified a part.
    ///
    /// - Returns: what ends the upload, when this was the last one.
    func staged(_ part: PendingUpload) -> PendingUpload? {
        guard case .part(_, let range) = part.content else { return nil }
        let isComplete = state.withLock { state in
            state.progress[part.id] = nil
            state.staged += UInt64(range.count)
            return state.staged == size
        }
        return isComplete ? PendingUpload(.assembly(self), of: whole, id: whole.id) : nil
    }

    /// The digest of the whole; to be asked when all parts were read.
    var digest: Digest {
        let parts = state.withLock { $0.digests }
        return BlockTree.root(parts.sorted { $0.key < $1.key }.flatMap(\.value), function)
    }

    /// Nothing more of it is wanted.
    ///
    /// - Returns: false when that was so before.
    func end() -> Bool {
        state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
    }
}
