/// Options of a sync or check.
public struct SyncOptions: Sendable {
    /// Whether entries that the source doesn't have are removed from the target. None is removed if the source could
    /// not be read completely, or after any failure.
    public var deletes = false

    /// The most entries that may be removed. If more would be removed, none is. Nil sets no limit.
    public var mostDeletions: Int?

    /// Whether removed entries go to a trash: the server's, or `.transfer/trash` in the local directory.
    public var keepsInTrash = true

    /// Path of a folder in the target that keeps what is replaced and removed, under the former paths. If it is nil,
    /// `keepsInTrash` decides. The folder is left out of the sync on both sides.
    public var backupFolder: String?

    /// Whether digests are compared even if size and time are the same. The digests of local files are computed for
    /// that; a server sends the digest that it has acknowledged.
    public var comparesContent = false

    /// Whether owners are made the same, which needs root on the changed side.
    public var keepsOwners = true

    /// What is done with a file of the target whose present version no sync has seen, and that is not older than the
    /// source's.
    public enum ConflictChoice: String, Sendable, CaseIterable {
        /// The source's version replaces it.
        case source
        /// The source's version replaces it if that is newer, and is not stored if it is older. If both have the same
        /// time, `both` applies.
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

    /// The folder of this user with the records of syncs. By its record, a sync knows what others have changed since
    /// the last sync of the same two sides. Nil to compare only the times of files. The folder need not exist.
    public var records: String?

    /// Whether the changes are only reported.
    public var isDryRun = false

    /// Whether a source without any file is accepted, so that `deletes` may empty the target.
    public var isForced = false

    /// Makes options with their default values.
    public init() {}
}
