/// How two trees are made the same.
public struct SyncOptions: Sendable {
    /// Whether what the source doesn't have is removed from the target. Nothing is, when the source is not known as a whole, or
    /// when anything went wrong before.
    public var deletes = false

    /// Entries that are removed at most; when there would be more, none is. Nothing for any number.
    public var mostDeletions: Int?

    /// Whether what is removed goes to a trash: that of the server, or `.transfer/trash` in the directory here.
    public var keepsInTrash = true

    /// A folder in the target, by its path there, that gets what is replaced and removed, under the paths that these had; nil for the
    /// trash, or none (`keepsInTrash`). It is left out of the sync on both sides.
    public var backupFolder: String?

    /// Whether content is compared by its digest also where size and time are the same. What is here is read for that; a server
    /// tells the digest that it has acknowledged.
    public var comparesContent = false

    /// Whether owners are made the same, which takes root on the side that is changed.
    public var keepsOwners = true

    /// What is done with a file of the target that no sync has seen as it is, and that is not older than that of the source either.
    public enum ConflictChoice: String, Sendable, CaseIterable {
        /// The source's replaces it.
        case source
        /// The source's replaces it where that is newer, by the times of both; otherwise it stays. With the same time, as `both`.
        case newer
        /// It stays, and the source's is stored beside it, as `NAME.conflict-HOST-DATE`.
        case both
        /// It stays, and nothing is stored.
        case fail
    }

    /// What is done in a conflict.
    public var conflicts = ConflictChoice.both

    /// Whether files stay that are newer in the target, by the times of both.
    public var skipsNewer = false

    /// The folder, of this user's own, for what syncs have seen, so that the next one of the same two sides knows what somebody else has
    /// changed since; nil to go by the times of files. It need not be there.
    public var records: String?

    /// Whether it is only told what would be done.
    public var isDryRun = false

    /// Whether a source without any file counts, and with `deletes` empties the target.
    public var isForced = false

    /// The defaults.
    public init() {}
}
