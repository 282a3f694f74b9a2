import TransferModel

/// Receives the result for each item that a target was asked to change.
typealias SyncReport<Item> = @Sendable (_ item: Item, _ result: ResultCode, _ message: String) -> Void

/// The side that a sync changes. Each method reports a result for every item, and throws if the connection is lost for
/// good.
protocol SyncTarget: Sendable {
    /// Whether a file that must not replace another one is compared with an existing file: the same content gives
    /// `alreadyStored`; other content stays, with the result `pathConflict` or `sourceChanged`.
    var comparesContent: Bool { get }

    /// Makes the top folder unless it exists.
    ///
    /// - Parameter permissions: the final permissions of the top folder; nil if it exists.
    func makeTop(permissions: UInt16?) async throws(TransferFailure)

    /// Sets attributes of entries that exist.
    func set(_ entries: [SyncEntry], _ report: @escaping SyncReport<SyncEntry>) async throws(TransferFailure)

    /// Removes temporary entries of this sync.
    func tidy() async

    /// Sets attributes of the top folder; comes last.
    func setTop(_ top: SyncTree.Top, keepsOwner: Bool) async throws(TransferFailure) -> ChangeReport
    func unlock(_ folders: [SyncEntry]) async throws(TransferFailure)
    func remove(
        _ removals: [SyncPlan.Removal], keepsInTrash: Bool, _ report: @escaping SyncReport<SyncPlan.Removal>
    ) async throws(TransferFailure)

    /// Makes folders, each after the one that contains it. Other users never get more permissions for a folder than the
    /// final ones.
    ///
    /// - Parameter links: symbolic links that are replaced by a folder.
    func makeFolders(
        _ folders: [SyncEntry], replacing links: Set<RelativePath>, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure)
    func move(_ moves: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure)

    /// Gives files a second path, under which they stay unchanged when the first path gets another file. A path that is
    /// taken gives `pathConflict`.
    func keep(_ copies: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure)

    /// Makes symbolic links with their attributes.
    ///
    /// - Parameter replaces: whether existing files or links are replaced; if false, they give `pathConflict`.
    func makeLinks(
        _ links: [SyncEntry], replaces: Bool, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure)

    /// Makes further hard links of files.
    ///
    /// - Parameter replaces: as for symbolic links.
    func makeHardLinks(
        _ links: [SyncPlan.HardLink], replaces: Bool, _ report: @escaping SyncReport<SyncPlan.HardLink>
    ) async throws(TransferFailure)

    /// Stores files. If the content existed already, the result is `alreadyStored`, and the caller sets the attributes
    /// later.
    func take(
        _ files: [SyncPlan.File], _ tell: @escaping @Sendable (SyncEvent) -> Void,
        _ report: @escaping SyncReport<SyncPlan.File>
    ) async throws(TransferFailure)
}

/// The side that a sync does not change.
protocol SyncSource: Sendable {
    /// The paths of `paths` that do not exist now.
    ///
    /// - Throws: if the source cannot be read, or if the directory is no longer the one that was scanned.
    func missing(of paths: [RelativePath]) async throws(TransferFailure) -> Set<RelativePath>
}
