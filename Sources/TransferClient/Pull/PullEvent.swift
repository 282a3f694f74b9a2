public import TransferModel

/// An event of a pull; events arrive in order.
public enum PullEvent: Sendable {
    /// The server has accepted the client.
    case connected(server: String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// The total of wanted files and bytes, whether they exist here already or not; sent once, when `countsAhead` is
    /// set and all folders are listed. Files are those that have or will have a report, including those that cannot be
    /// fetched.
    case counted(files: Int, bytes: UInt64)

    /// A file would be fetched. A preview sends this event instead of a report.
    case planned(PlannedDownload)

    /// The progress of a long file.
    case progress(UploadProgress)

    /// The pull of one file has ended, whether it was fetched or not.
    case finished(PullReport)

    /// All files of a folder are the same here as on the server, by their sizes and times of modification. This event
    /// replaces the reports of the files if `ClientConfiguration.asksByFolder` is set. The source is the folder on the
    /// server.
    case known(KnownFolder)
}

/// A file that a pull would fetch.
public struct PlannedDownload: Sendable, Equatable {
    /// What the entry is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The path on the server, below the folder of the server's address.
    public let source: String

    /// The path below the directory that would be pulled to. If the name is taken, the conflict policy decides.
    public let path: String

    /// The size of the content in bytes.
    public let size: UInt64
}

/// The outcome of the pull of one file, or of an operand that could not be pulled.
public struct PullReport: Sendable, Equatable {
    /// What the entry is: a file, unless `ClientConfiguration.archives` is set.
    public var form = EntryForm.file

    /// The path on the server, below the folder of the server's address.
    public var source: String

    /// `committed` if it was fetched and stored, `alreadyStored` if the same content existed here, `skipped`; otherwise
    /// the reason of the failure.
    public var result: ResultCode

    /// The path of the content below the directory that was pulled to; nil unless the content is stored there.
    public var path: String?

    /// The size of the content in bytes.
    public var size: UInt64

    /// The digest of the content; nil if it was not read.
    public var digest: Digest?

    /// The bytes that were not fetched again, because an earlier pull had fetched them.
    public var resumed: UInt64 = 0

    /// Seconds from the request to the end.
    public var seconds = 0.0

    /// A sentence for the user; empty if there is nothing to say.
    public var message = ""

    /// The path where the content would be stored, below the directory that is pulled to; nil if unknown, and for the
    /// directory itself.
    package var target: String?

    /// Whether the entry existed already and now has other permissions, times, extended attributes or another owner.
    package var hasNewAttributes = false

    /// Whether the source is a pattern.
    package var isPattern = false

    /// The delivery whose content was fetched; nil for a file that has a path on the server.
    var delivery: UploadID?

    /// The bytes that were received, counted by the client; for sealed content, the size of the encrypted file.
    var travelled: UInt64?

    /// Whether the content was sealed and has been opened.
    var isOpened = false

    /// The version of the local file, if it was stored or compared.
    var version: ContentVersion?
}

extension PullReport {
    /// The report on a path that is not UTF-8, and so cannot be requested.
    package static func unusable(_ path: [UInt8]) -> PullReport {
        PullReport(
            source: String(decoding: path, as: UTF8.self), result: .invalidPath, size: 0,
            message: path.contains(0)
                ? "It contains a NUL byte, which no path can have."
                : "Its name is not UTF-8, as all paths on a server are.")
    }
}
