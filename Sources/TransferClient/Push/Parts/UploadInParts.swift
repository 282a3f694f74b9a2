import TransferModel
import TransferProtocol

/// Content on its way in parts, which any lane may take; afterwards one of them ends it.
protocol UploadInParts: AnyObject, Sendable {
    /// What travels in parts. Its id is the upload's.
    var whole: PendingUpload { get }

    /// Bytes of content, or nothing while the source has no end yet.
    var knownSize: UInt64? { get }

    /// Bytes of the whole that are not in holes, as far as that can be told; nothing where there are none.
    var filled: UInt64? { get }

    /// Whether it has its report, or parts of it are no longer wanted for another reason.
    var isOver: Bool { get }

    /// Whether there will be parts to hand out, now or later.
    var hasMoreParts: Bool { get }

    /// - Returns: nothing when there is none to hand out now.
    func nextPart(_ sharing: PartSharing) -> PendingUpload?

    /// A reader of the bytes in a range.
    ///
    /// - Throws: why they can't be read.
    func reader(of range: Range<UInt64>) throws(Failure) -> ContentReader

    /// A reader of nothing more, for the end.
    ///
    /// - Throws: `sourceChanged`.
    func readerOfEnd() throws(Failure) -> ContentReader

    /// Keeps the digests of the blocks of a part that was read, in place of those of an earlier attempt at it.
    ///
    /// - Parameter digests: one after the other; of a piece of a block that of the piece.
    /// - Throws: why the block of a piece can't be read.
    func keep(_ digests: [UInt8], of range: Range<UInt64>) throws(Failure)

    /// The digest of the whole; to be asked when all parts were read.
    var digest: Digest { get }

    /// How far the server is with the whole, when it is so far with a part.
    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64

    /// The server has verified a part.
    ///
    /// - Returns: what ends the upload, when this was the last one.
    func staged(_ part: PendingUpload) -> PendingUpload?

    /// Forgets what the server has: it will be asked again.
    func restart()

    /// Compares blocks that the server has with those here; the same ones need not be sent.
    ///
    /// - Returns: how many bytes were compared so far.
    /// - Throws: why they can't be compared.
    func compare(_ have: Have) throws(Failure) -> UInt64

    /// The server has told all that it has.
    ///
    /// - Returns: what ends the upload, when nothing is missing.
    /// - Throws: `connectionLost` when something is missing that can't be sent again.
    func answered() throws(Failure) -> PendingUpload?

    /// Nothing more of it is wanted.
    ///
    /// - Returns: false when that was so before.
    func finish() -> Bool
}

extension UploadInParts {
    var filled: UInt64? { nil }
}
