/// What a watch of a directory can choose.
public struct WatchOptions: Sendable {
    /// What becomes of a file here when the server has acknowledged it.
    public enum Afterwards: Sendable, Equatable {
        /// It stays.
        case stays
        /// It is removed, as `TransferClient.removeSources` does.
        case isRemoved
        /// It is moved below a folder of the same file system, if it is still the same; nothing is replaced there.
        case moves(to: String)
    }

    /// Seconds that a file stays as it is, in size, time of modification and inode, before it is sent.
    public var settle = 2.0

    /// What becomes of a file here when the server has acknowledged it.
    public var afterwards = Afterwards.stays

    /// What of the directory is sent. Behind its rules `temporaryNames` are left out, unless all rules include.
    public var selection = Selection()

    /// Whether it ends when everything that is there was sent, or was tried.
    public var endsWhenSent = false

    /// Seconds for which a server that cannot be reached is tried again before the watch fails; nothing for ever.
    public var retryFor: Double?

    /// The folder, of this user's own, that it is kept in what was acknowledged, so that another watch of the same
    /// directory asks only about what is new; nothing to ask about everything. It need not be there.
    public var journals: String?

    /// The defaults.
    public init() {}

    /// Names of what programs are still writing, or keep for themselves, as patterns of `PathRule`.
    public static let temporaryNames = [
        "*.part", "*.partial", "*.filepart", "*.crdownload", "*.download", "*.opdownload", "*.tmp", "*.temp", "*.swp",
        "*.swx",
        "*~", "~$*", ".~*", ".#*", ".goutputstream-*", ".fuse_hidden*", ".nfs????????*", ".transfer-*", ".syncthing.*",
        ".Trash-*", ".Spotlight-V100", ".fseventsd", ".DS_Store", "._*", "System Volume Information", "lost+found",
    ]
}
