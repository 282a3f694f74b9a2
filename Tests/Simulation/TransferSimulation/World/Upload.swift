import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

extension World {
    /// An upload that a client wants to make.
    struct Upload {
        let id: UploadID
        let content: Int
        var path: String
        var conflict: ConflictPolicy
        /// Whether the sender declares the size.
        var isSized: Bool
        /// Whether the sender declares a digest at the end.
        let declares: Bool
        let mayEnd: Bool
        let isInParts: Bool
        let caller: Int
        /// The digest function that the sender asks for.
        var function = DigestFunction.xxh128
        /// Requirement on the present file at the path; nil if the upload has no requirement.
        var condition: Condition?
        /// Last answer that the sender received, with the server that gave it.
        var answer: Answer?
        /// Server that has published the upload last. A file that an earlier server has published may have no owner
        /// after the end of that server.
        var publishedUnder: Int?
        /// Server that has last failed to publish the upload, so that the content may be at the path.
        var failedUnder: Int?
        /// Whether the upload is sealed in a session and has no outcome yet.
        var isOnItsWay = false
        /// Moment at which the sender received the acknowledgement.
        var answered = 0
        /// Whether the acknowledgement relied on a commit that a power cut may take from the catalog: the content is
        /// stored, and is sent again.
        var mayBeForgotten = false
        /// Whether the content has got a name since the acknowledgement. No answer has reported that file.
        var hasNewFile = false
        /// Moment of the last publication.
        var published: PublishedMoment?
        /// Reason of the last refusal.
        var refusal: Failure?
        /// Server that has received every part of the upload so far, and therefore has no other parts; nil if the
        /// server may have parts that the sender does not know.
        var partsUnder: Int?
        var hasParts = false
        /// Whether a part was refused since the sender has last compared the blocks on the server with its own.
        var hasRefusedPart = false
        /// State of the parts under the present server.
        var parts = Parts()
        /// Blocks that the server has reported as stored. They outlive the process, so the sender need not keep them.
        var verified: Set<Int> = []
        /// Whether a killed server may have published the upload and not recorded it.
        var wasPublished = false
        /// Number of parts that have begun.
        var claimed = 0
        /// State of an append upload, as the sender knows it.
        var appendUpload: AppendUpload?
    }

    /// Requirement that a sender sets for the path of an upload.
    enum Condition {
        /// No file has the path.
        case free
        /// The path has the same file as when the sender looked.
        case unchanged
    }

    /// State of an append upload, as its sender knows it.
    struct AppendUpload {
        /// Bytes that the server has reported as durable.
        var told = 0
        /// Whether the server has reported anything about the upload.
        var isBegun = false
        /// Whether the upload may be gone, because it was to be published or the disk has failed.
        var mayBeGone = false
        /// Number of failed syncs when a session last worked on the upload.
        var failedSyncs: Int?
    }

    /// Moment at which an upload was published.
    struct PublishedMoment {
        /// Number of changes by other programs before the publication.
        var changes = 0
        /// Number of names that contents had got by the end of the publication.
        var publications = 0
    }

    /// One attempt of a client to send an upload.
    struct Attempt {
        let upload: Int
        /// Moment at which the attempt began, as the world counts.
        let begun: Int
        /// Object that the sender demands at the path; nil without a demand.
        var demanded: Demand?
    }

    /// Object that must be at a path.
    enum Demand: Equatable {
        case nothing
        case object(Medium.Object)
    }

    /// A file that a command has stored and must not replace.
    struct CommandFile: Equatable {
        let caller: Int
        let server: Int
        /// Last change of the content; nanoseconds since 1970.
        let modified: Int64?
    }

    struct Answer: Equatable {
        let code: ResultCode
        let path: String
        let server: Int
        /// Version of the file at the path at that time.
        let version: ContentVersion?
    }

    /// An upload whose content a client is sending.
    struct Current {
        let open: OpenUpload
        let attempt: Attempt
        /// Range of the content that the client sends.
        let whole: Range<Int>
        /// Range that is still to be sent.
        var range: Range<Int>
        /// Whether the server compares received content with its digest before the content counts.
        var isCompared = false
        /// Claim on the range that a part may write.
        var claim: Claim?
        /// Whether the sender must declare a digest of the whole content, because the server may have parts that no
        /// client has compared.
        var isUncompared = false

        var upload: Int { attempt.upload }

        var isPart: Bool { claim != nil }
    }
}
