import TransferIntake
import TransferModel
import TransferPorts
import TransferStore

extension World {
    /// What somebody wants to upload.
    struct Upload {
        let id: UploadID
        let content: Int
        var path: String
        var conflict: ConflictPolicy
        /// Whether its sender says how long it is.
        var isSized: Bool
        /// Whether its sender declares a digest at its end.
        let declares: Bool
        let mayEnd: Bool
        let isInParts: Bool
        let caller: Int
        /// What has to have its path when it gets it; nil for anything.
        var condition: Condition?
        /// What it was told last, and under which server.
        var answer: Answer?
        /// The server that has published it last: what an earlier one has published may be nobody's after its end.
        var publishedUnder: Int?
        /// The server that has failed to publish it last: its content may stand under its path.
        var failedUnder: Int?
        /// Whether it is sealed somewhere and has no outcome yet.
        var isOnItsWay = false
        /// When it was told that it is stored, as the world counts.
        var answered = 0
        /// Whether it was acknowledged by what a power cut may let the catalog forget: the content is there, and comes once more.
        var mayBeForgotten = false
        /// Whether its content has got a name since the server has acknowledged it: nobody has been told of that file.
        var hasNewFile = false
        /// When it was published last.
        var published: PublishedMoment?
        /// Why it was refused last.
        var refusal: Failure?
        /// The server that all of its parts came to so far, where nobody has looked for what was there before: nothing is
        /// there then but what was sent.
        var partsUnder: Int?
        var hasParts = false
        /// Whether one of them was refused since its sender has last compared what is there with what it has.
        var hasRefusedPart = false
        /// What is known of its parts under this server.
        var parts = Parts()
        /// Blocks that were told to be there: they outlive the process, so that its sender need not have them any more.
        var verified: Set<Int> = []
        /// How many parts of it have begun.
        var claimed = 0
        /// What its sender knows of an append upload.
        var appendUpload: AppendUpload?
    }

    /// What the sender of an upload makes it depend on.
    enum Condition {
        /// That nothing has the path.
        case free
        /// That the path has what it had when the sender looked.
        case unchanged
    }

    /// What the sender of an upload knows that grows at its end.
    struct AppendUpload {
        /// Bytes that are said to be durable.
        var told = 0
        /// Whether anything was told of it.
        var isBegun = false
        /// Whether it may have gone: it was to be published, or the disk has failed.
        var mayBeGone = false
        /// Syncs that had failed when somebody last worked on it.
        var failedSyncs: Int?
    }

    /// When something was published.
    struct PublishedMoment {
        /// Changes that others had made before.
        var changes = 0
        /// Names that contents had got by the end of it.
        var publications = 0
    }

    /// All that somebody has sent of an upload.
    struct Attempt {
        let upload: Int
        /// When it began, as the world counts.
        let begun: Int
        /// What it has demanded to be at its path; nil where it has demanded nothing.
        var demanded: Demand?
    }

    /// What has to be at a path.
    enum Demand: Equatable {
        case nothing
        case object(Medium.Object)
    }

    /// A file that a command has stored, and does not replace.
    struct CommandFile: Equatable {
        let caller: Int
        let server: Int
        /// When its content was changed last; nanoseconds since 1970.
        let modified: Int64?
    }

    struct Answer: Equatable {
        let code: ResultCode
        let path: String
        let server: Int
        /// What stood at the path then.
        let version: ContentVersion?
    }

    /// An upload whose content is coming.
    struct Current {
        let open: OpenUpload
        let attempt: Attempt
        /// What is to come of its content.
        let whole: Range<Int>
        /// What is still to come of it.
        var range: Range<Int>
        /// Whether what arrives is compared with its digest before it counts.
        var isCompared = false
        /// What a part may write.
        var claim: Claim?
        /// Whether the digest of all of it has to be declared: something may be there that nobody has compared.
        var isUncompared = false

        var upload: Int { attempt.upload }

        var isPart: Bool { claim != nil }
    }
}
