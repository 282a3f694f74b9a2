/// Options of a sync or check.
public struct SyncOptions: Sendable {
    /// Whether entries that the source doesn't have are removed from the target. None is removed if the source could
    /// not be read completely, or after any failure.
    public var deletes = false

    /// Entries that may be removed at most; if there are more, none is. Nil for no bound.
    public var mostDeletions: Int?

    /// Whether removed entries go to a trash: the server's, or `.transfer/trash` in the directory here.
    public var keepsInTrash = true

    /// Path of a folder in the target that keeps what is replaced and removed, under the former paths. Nil for a trash
    /// or none (`keepsInTrash`). The folder is left out of the sync on both sides.
    public var backupFolder: String?

    /// Whether digests are compared even if size and time are the same. Files here are read for that; a server sends
    /// the digest that it has acknowledged.
    public var comparesContent = false

    /// Whether owners are made the same, which needs root on the changed side.
    public var keepsOwners = true

    /// What is done with a file of the target that no sync has seen in its present version, and that is not older than
    /// the source's.
    public enum ConflictChoice: String, Sendable, CaseIterable {
        /// The source's version replaces it.
        case source
        /// The source's version replaces it if that is newer, and is not stored if it is older. With the same time, as
        /// `both`.
        case newer
        /// It stays, and the source's version is stored beside it, as `NAME.conflict-HOST-DATE`.
        case both
        /// It stays, and nothing is stored.
        case fail
    }

    /// What is done about conflicts.
    public var conflicts = ConflictChoice.both

    /// Whether files stay that are newer in the target than in the source.
    public var skipsNewer = false

    /// This user's folder with the records of syncs, by which the next sync of the same two sides knows what others
    /// have changed since. Nil to compare the times of files only. It need not exist.
    public var records: String?

    /// Whether the changes are only reported.
    public var isDryRun = false

    /// Whether a source without any file is accepted, so that `deletes` may empty the target.
    public var isForced = false

    /// Makes options with their default values.
    public init() {}
}
