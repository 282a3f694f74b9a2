public import TransferModel
public import TransferReceipts

/// How one upload ended.
public struct UploadReport: Sendable, Equatable {
    /// Where the content came from: the path as it was given or found, or the name of what had none.
    public var source: String

    /// What it is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The idempotency key under which the server knows the upload.
    public var uploadID: UploadID

    /// The server's acknowledgement, or why it never came to one.
    public var result: ResultCode

    /// Where the content is, relative to the server's directory; nothing unless it is stored.
    public var storedPath: String?

    /// Whom it is for; nobody of what is stored under a path.
    public var recipients: [String] = []

    /// Whether the server cannot read it. Then kind and size are those of what was sealed, and the digest is that of what the
    /// server has.
    public var isSealed = false

    /// What it is.
    public var kind: ContentKind

    /// Bytes of content.
    public var size: UInt64

    /// As the server computed it from what it stored.
    public var digest: Digest?

    /// Whether the server has compared what it stored with what was sent. A server of a classic framing may say that it has
    /// the content without that, and so may one of HTTP that is not Transfer's.
    public var isVerified: Bool { result == .committed || result == .alreadyStored || isComparedElsewhere }

    /// Whether the server had synced file and directory before it answered.
    public var isDurable = false

    /// Whether it took the place of other content that had the name (`ConflictPolicy.overwrite`). A server that is older than
    /// this client, or not Transfer's, doesn't say: then it is false.
    public var hasReplaced = false

    /// The part of the server's trash that has that content; nil where it is not kept, or where the server does not know that any more.
    public var trash: TrashedBatch?

    /// What the server signed; verified, and about this upload. There where receipts are wanted and the upload is stored;
    /// if it should be and isn't, the result is `badReceipt`.
    public var receipt: SignedReceipt?

    /// What kind of picture it is and how large, where the content was looked at and says so.
    public var picture: Picture?

    /// How often it was begun to send it; 0 of what the server knew without.
    public var attempts = 0

    /// The path that was asked for, the server's folder included; nothing when there was none yet.
    package var destination: String?

    /// Whether a server that is not Transfer's has compared a digest that it was given, or names that of what was sent.
    package var isComparedElsewhere = false

    /// The name that a server lists it under.
    package var listedName: String? { isSealed ? SealedUpload.wirePath : destination }

    /// Whether `source` is the path of a file or a directory here, so that it can be pushed again by it.
    package var isPath = false

    /// Seconds for which the server keeps what has arrived of it, so that the same command goes on from there; nothing where it keeps
    /// nothing.
    package var keptFor: UInt32?

    /// Whether it was named, and not found in a directory: to skip what was named is to fail.
    package var isNamed = false

    /// Where the source is; nil of what has no path here.
    var place: SourcePlace?

    /// The file that the content was read from, or that stood for it; nothing of what is no file.
    var file: SourceFile.Identity?

    /// Whether it was there and has other permissions, another time, other extended attributes or another owner now.
    package var hasNewAttributes = false

    /// What a symbolic link was that was sent.
    var link: SentLink?

    /// Whether all of the content was read for this push and compared with the acknowledgement.
    var isRead = false

    /// From the start of reading to the result.
    public var seconds = 0.0

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""
}
