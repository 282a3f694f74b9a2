internal import CLinux
internal import Glibc
internal import TransferModel

/// Which of the files that were named or found are sent or fetched. Content that is not a file, such as a stream, is
/// always sent.
public struct Selection: Sendable {
    /// The first rule that matches decides; one that excludes a directory holds for all that is in it, unless an
    /// earlier one includes the file. A file that no rule matches is sent, unless there are rules and all of them
    /// include. Rules see the path from the directory that is pushed or pulled; for a file that was named itself, its
    /// name.
    public var rules: [PathRule] = []

    /// Whether rules, and the patterns of a pull, ignore the case of letters.
    public var ignoresCase = false

    /// The name of ignore files, which say what is not sent from their directories (gitignore(5)); nil for no such
    /// files. Pulls ignore these files.
    public var ignoreFile: String?

    /// The least size in bytes; nil for no bound.
    public var minimumSize: UInt64?

    /// The greatest size in bytes; nil for no bound.
    public var maximumSize: UInt64?

    /// Only files that were modified after this time, since 1970; nanoseconds from 0 to 999,999,999. Nil for no bound.
    public var modifiedAfter: (seconds: Int64, nanoseconds: UInt32)?

    /// The usual name of ignore files.
    public static let defaultIgnoreFile = ".transferignore"

    /// Selects everything until properties are set.
    public init() {}

    /// Whether sizes or times of files are needed.
    private var needsStatus: Bool { minimumSize != nil || maximumSize != nil || modifiedAfter != nil }

    /// Whether a local file has a selected size and time. A missing file counts as selected, so that reading it reports
    /// the error.
    func accepts(_ place: () -> SourcePlace) -> Bool {
        guard needsStatus, let status = try? place().status() else { return true }
        return accepts(status)
    }

    /// Whether a local file has a selected size and time.
    func accepts(_ status: stat) -> Bool {
        let file = SourceFile.Identity(status)
        return accepts(size: file.size, (file.modified.seconds, file.modified.nanoseconds))
    }

    /// Whether a file on a server has a selected size and time.
    func accepts(_ entry: RemoteEntry) -> Bool {
        accepts(size: entry.size, (entry.modified.seconds, entry.modified.nanoseconds))
    }

    /// Whether every file on a server is selected.
    var takesEverything: Bool { rules.isEmpty && !needsStatus }

    /// Whether a size and a time are within the bounds.
    func accepts(size: UInt64, _ modified: (seconds: Int64, nanoseconds: UInt32)) -> Bool {
        if let minimumSize, size < minimumSize { return false }
        if let maximumSize, size > maximumSize { return false }
        guard let bound = modifiedAfter else { return true }
        return modified > bound
    }
}
