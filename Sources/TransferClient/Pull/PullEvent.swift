public import TransferModel

/// What happens during a pull, in order.
public enum PullEvent: Sendable {
    /// The server has answered.
    case connected(server: String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// Files and bytes in all that are wanted, here already or not; once, when counting was asked for and all folders are
    /// listed. Files are those that have or will have a report, also when they cannot be fetched.
    case counted(files: Int, bytes: UInt64)

    /// A file would be fetched; in place of its report, where nothing is to be changed here.
    case planned(PlannedDownload)

    /// How far a long file is.
    case progress(UploadProgress)

    /// A file is here, or not.
    case finished(PullReport)

    /// All files of a folder are here as they are on the server, by their sizes and times of modification; in place of a report for
    /// each, where `ClientConfiguration.asksByFolder` is set. The source is the folder on the server.
    case known(KnownFolder)
}

/// A file that a pull would fetch.
public struct PlannedDownload: Sendable, Equatable {
    /// What it is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The path on the server, below the folder of its address.
    public let source: String

    /// Below the directory that it would be pulled to. Where something has the name already, the policy for conflicts decides.
    public let path: String

    /// Bytes of content.
    public let size: UInt64
}

/// How the pull of one file, or of what was asked for, ended.
public struct PullReport: Sendable, Equatable {
    /// What it is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

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

    /// Where it would be, below the directory that is pulled to; nothing where nobody knows, and for the directory itself.
    package var target: String?

    /// Whether it was here and has other permissions, another time, other extended attributes or another owner now.
    package var hasNewAttributes = false

    /// Whether the source is a pattern.
    package var isPattern = false

    /// The delivery that it was the content of.
    var delivery: UploadID?

    /// Bytes that travelled, as the client counted them; of sealed content, the bytes of the sealed file.
    var travelled: UInt64?

    /// Whether the content was sealed and has been opened.
    var isOpened = false

    /// The file that has the content, when it was stored or compared.
    var version: ContentVersion?
}

extension PullReport {
    /// For a path that is not UTF-8, and so cannot be asked for.
    package static func unusable(_ path: [UInt8]) -> PullReport {
        PullReport(
            source: String(decoding: path, as: UTF8.self), result: .invalidPath, size: 0,
            message: path.contains(0)
                ? "It has a zero byte, which no path has." : "Its name is not UTF-8, as all paths on a server are.")
    }
}
