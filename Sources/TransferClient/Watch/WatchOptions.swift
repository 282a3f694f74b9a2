/// Options for the watch of a directory.
public struct WatchOptions: Sendable {
    /// What is done with a file here when the server has acknowledged it.
    public enum Afterwards: Sendable, Equatable {
        /// The file stays where it is.
        case stays
        /// It is removed, as `TransferClient.removeSources` does.
        case isRemoved
        /// It is moved below a folder of the same file system, if it has not changed. No file there is replaced.
        case moves(to: String)
    }

    /// Seconds during which size, modification time and inode of a file must not change before it is sent.
    public var settle = 2.0

    /// What is done with a file here when the server has acknowledged it.
    public var afterwards = Afterwards.stays

    /// The files that are sent. After its rules, `temporaryNames` are excluded, unless all rules include.
    public var selection = Selection()

    /// Whether the watch ends when every file was sent or tried once.
    public var endsWhenSent = false

    /// Seconds for which a server that cannot be reached is tried again before the watch fails; nil for no bound.
    public var retryFor: Double?

    /// This user's folder that remembers acknowledged files, so that another watch of the same directory asks the
    /// server only about new ones. Nil to ask about every file. It need not exist.
    public var journals: String?

    /// Makes options with their default values.
    public init() {}

    /// Names of files that programs are still writing, or keep for themselves, as patterns of `PathRule`.
    public static let temporaryNames = [
        "*.part", "*.partial", "*.filepart", "*.crdownload", "*.download", "*.opdownload", "*.tmp", "*.temp", "*.swp",
        "*.swx",
        "*~", "~$*", ".~*", ".#*", ".goutputstream-*", ".fuse_hidden*", ".nfs????????*", ".transfer-*", ".syncthing.*",
        ".Trash-*", ".Spotlight-V100", ".fseventsd", ".DS_Store", "._*", "System Volume Information", "lost+found",
    ]
}
