import TransferModel
import TransferProtocol

/// An upload that is sent in parts, which any lane may take; one lane ends it when all parts are staged.
protocol UploadInParts: AnyObject, Sendable {
    /// The upload that is sent in parts, with its id.
    var whole: PendingUpload { get }

    /// The size of the content in bytes; nil until the end of a stream is known.
    var knownSize: UInt64? { get }

    /// The bytes of the whole that are not in holes, as far as known; nil if there are no holes.
    var filled: UInt64? { get }

    /// Whether the upload has its report, or its parts are not wanted for another reason.
    var isOver: Bool { get }

    /// Whether the upload has parts to hand out, now or later.
    var hasMoreParts: Bool { get }

    /// - Returns: nil if no part can be handed out now.
    func nextPart(_ sharing: PartSharing) -> PendingUpload?

    /// A reader of the bytes in a range.
    ///
    /// - Throws: the reason why they cannot be read.
    func reader(of range: Range<UInt64>) throws(Failure) -> ContentReader

    /// A reader for the end, which has no content but the source's attributes.
    ///
    /// - Throws: `sourceChanged`.
    func readerOfEnd() throws(Failure) -> ContentReader

    /// Keeps the digests of the blocks of a part that was read, in place of those of an earlier attempt.
    ///
    /// - Parameter digests: the digests, one after the other; for a piece of a block, the digest of the piece.
    /// - Throws: the reason why the block of a piece cannot be read.
    func keep(_ digests: [UInt8], of range: Range<UInt64>) throws(Failure)

    /// The digest of the whole, valid when all parts were read.
    var digest: Digest { get }

    /// The bytes that the server has of the whole, given those that it has of a part.
    func progressed(_ part: UploadID, _ bytes: UInt64) -> UInt64

    /// Notes that the server has verified a part.
    ///
    /// - Returns: the end of the upload, if this was the last part.
    func staged(_ part: PendingUpload) -> PendingUpload?

    /// Forgets what the server has, before it is asked again.
    func restart()

    /// Compares blocks of the server with those of the source; equal ones are not sent.
    ///
    /// - Returns: the number of bytes compared so far.
    /// - Throws: the reason why they cannot be compared.
    func compare(_ have: Have) throws(Failure) -> UInt64

    /// Notes that the server has reported all that it has.
    ///
    /// - Returns: the end of the upload, if nothing is missing.
    /// - Throws: `connectionLost` if a missing part cannot be sent again.
    func answered() throws(Failure) -> PendingUpload?

    /// Ends the upload, so that no further part is wanted.
    ///
    /// - Returns: false if the upload had ended before.
    func finish() -> Bool
}

extension UploadInParts {
    var filled: UInt64? { nil }
}
