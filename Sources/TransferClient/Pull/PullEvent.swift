public import TransferModel

/// What happens during a pull, in order.
public enum PullEvent: Sendable {
    /// The server has answered.
    case connected(server: String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// How far a long file is.
    case progress(UploadProgress)

    /// A file is here, or not.
    case finished(PullReport)

    /// All files of a folder are here as they are on the server, by their sizes and times of modification; in place of a report for
    /// each, where `ClientConfiguration.asksByFolder` is set. The source is the folder on the server.
    case known(KnownFolder)
}

/// How the pull of one file, or of what was asked for, ended.
public struct PullReport: Sendable, Equatable {
    /// The path on the server, below the folder of its address.
    public var source: String

    /// `committed` when it was fetched and stored, `alreadyStored` when the same content was there, `skipped`; or why not.
    public var result: ResultCode

    /// Where the content is, below the directory that it was pulled to; nothing unless it is there.
    public var path: String?

    /// Bytes of content.
    public var size: UInt64

    /// Of the content that is there.
    public var digest: Digest?

    /// Bytes that did not have to travel, because an earlier pull had fetched them.
    public var resumed: UInt64 = 0

    /// From the request to the end.
    public var seconds = 0.0

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""

    /// The delivery that it was the content of.
    var delivery: UploadID?

    /// The file that has the content, when it was stored or compared.
    var version: ContentVersion?
}
