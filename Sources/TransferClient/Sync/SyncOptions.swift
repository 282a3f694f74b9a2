/// How two trees are made the same.
public struct SyncOptions: Sendable {
    /// Whether what the source doesn't have is removed from the target. Nothing is, when the source is not known as a whole, or
    /// when anything went wrong before.
    public var deletes = false

    /// Entries that are removed at most; when there would be more, none is. Nothing for any number.
    public var mostDeletions: Int?

    /// Whether what is removed goes to a trash: that of the server, or `.transfer/trash` in the directory here.
    public var keepsInTrash = true

    /// Whether content is compared by its digest also where size and time are the same. What is here is read for that; a server
    /// tells the digest that it has acknowledged.
    public var comparesContent = false

    /// Whether owners are made the same, which takes root on the side that is changed.
    public var keepsOwners = true

    /// Whether it is only told what would be done.
    public var isDryRun = false

    /// Whether a source without any file counts, and with `deletes` empties the target.
    public var isForced = false

    /// The defaults.
    public init() {}
}
