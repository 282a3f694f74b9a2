public import TransferProtocol
public import TransferReceipts

/// How one upload ended.
public struct UploadReport: Sendable, Equatable {
    /// Where the content came from: the path as it was given or found, or the name of what had none.
    public var source: String

    /// The idempotency key under which the server knows the upload.
    public var uploadID: UploadID

    /// The server's acknowledgement, or why it never came to one.
    public var result: ResultCode

    /// Where the content is, relative to the server's directory; nothing unless it is stored.
    public var storedPath: String?

    /// What it is.
    public var kind: ContentKind

    /// Bytes of content.
    public var size: UInt64

    /// As the server computed it from what it stored.
    public var digest: Digest?

    /// Whether the server had synced file and directory before it answered.
    public var isDurable = false

    /// What the server signed; verified, and about this upload. There where receipts are wanted and the upload is stored;
    /// if it should be and isn't, the result is `badReceipt`.
    public var receipt: SignedReceipt?

    /// From the start of reading to the result.
    public var seconds = 0.0

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""
}
