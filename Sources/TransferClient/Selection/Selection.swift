internal import CLinux
internal import Glibc
internal import TransferModel

/// Which files are sent or fetched of those that are named or found. What is no file, such as a stream, always is sent.
public struct Selection: Sendable {
    /// The first rule that matches decides; one that excludes a directory holds for all that is in it, unless an earlier one
    /// includes the file. What no rule matches is sent, unless all rules include. They see paths from the directory that
    /// is pushed or pulled, and of a file that is named itself, its name.
    public var rules: [PathRule] = []

    /// Whether letters that differ by their case alone are the same to the rules, and to the patterns that a pull is given.
    public var ignoresCase = false

    /// The name of the files that say what of their directory is not sent (gitignore(5)); nothing for no such files. A pull
    /// heeds none.
    public var ignoreFile: String?

    /// Bytes that a file has at least.
    public var minimumSize: UInt64?

    /// Bytes that a file has at most.
    public var maximumSize: UInt64?

    /// What a file was modified after, since 1970; nanoseconds from 0 to 999,999,999.
    public var modifiedAfter: (seconds: Int64, nanoseconds: UInt32)?

    /// What `.transferignore` is called.
    public static let defaultIgnoreFile = ".transferignore"

    /// Everything.
    public init() {}

    /// Whether it takes a look at the file itself to know.
    private var needsStatus: Bool { minimumSize != nil || maximumSize != nil || modifiedAfter != nil }

    /// Whether a file that was found is right for it, whatever its path. One that is gone is: whoever wants to read it says
    /// so.
    func accepts(_ place: () -> SourcePlace) -> Bool {
        guard needsStatus, let status = try? place().status() else { return true }
        return accepts(status)
    }

    /// Whether a file is right for it, whatever its path.
    func accepts(_ status: stat) -> Bool {
        let file = SourceFile.Identity(status)
        return accepts(size: file.size, (file.modified.seconds, file.modified.nanoseconds))
    }

    /// Whether a file on a server is right for it, whatever its path.
    func accepts(_ entry: RemoteEntry) -> Bool {
        accepts(size: entry.size, (entry.modified.seconds, entry.modified.nanoseconds))
    }

    /// Whether it leaves nothing out on a server.
    var takesEverything: Bool { rules.isEmpty && !needsStatus }

    /// Whether a file of this size and time is right for it, whatever its path.
    func accepts(size: UInt64, _ modified: (seconds: Int64, nanoseconds: UInt32)) -> Bool {
        if let minimumSize, size < minimumSize { return false }
        if let maximumSize, size > maximumSize { return false }
        guard let bound = modifiedAfter else { return true }
        return modified > bound
    }
}
