import TransferModel

/// Takes what came of each thing that a side was asked for.
typealias SyncReport<Item> = @Sendable (_ item: Item, _ result: ResultCode, _ message: String) -> Void

/// The side that is changed. Each of these says of everything what came of it, and throws when the connection is lost for good.
protocol SyncTarget: Sendable {
    /// Whether a file that replaces nothing is compared with what has its path: the same content is `alreadyStored`, and another one
    /// stays, with the result `pathConflict` or `sourceChanged`.
    var comparesContent: Bool { get }

    /// Makes the folder that everything goes into, unless it is there.
    ///
    /// - Parameter permissions: those that it is going to have; nothing where it was there.
    func makeTop(permissions: UInt16?) async throws(TransferFailure)

    /// Sets attributes.
    func set(_ entries: [SyncEntry], _ report: @escaping SyncReport<SyncEntry>) async throws(TransferFailure)

    /// Leaves nothing behind that was only needed on the way.
    func tidy() async

    /// Sets those of the folder that all is in; comes last.
    func setTop(_ top: SyncTree.Top, keepsOwner: Bool) async throws(TransferFailure) -> ChangeReport
    func unlock(_ folders: [SyncEntry]) async throws(TransferFailure)
    func remove(
        _ removals: [SyncPlan.Removal], keepsInTrash: Bool, _ report: @escaping SyncReport<SyncPlan.Removal>
    ) async throws(TransferFailure)

    /// Makes folders, each behind the one that it is in. Nobody may do in one what its permissions will not let him.
    ///
    /// - Parameter links: those that give way to a folder.
    func makeFolders(
        _ folders: [SyncEntry], replacing links: Set<RelativePath>, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure)
    func move(_ moves: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure)

    /// Gives files a second path, as they are: what becomes of the first one leaves the second one alone. A path that is taken is
    /// `pathConflict`.
    func keep(_ copies: [SyncPlan.Move], _ report: @escaping SyncReport<SyncPlan.Move>) async throws(TransferFailure)

    /// Makes symbolic links.
    ///
    /// - Parameter replaces: whether a file or link that has the path of another one gives way; otherwise that is `pathConflict`.
    func makeLinks(
        _ links: [SyncEntry], replaces: Bool, _ report: @escaping SyncReport<SyncEntry>
    ) async throws(TransferFailure)

    /// Gives files other names.
    ///
    /// - Parameter replaces: as for symbolic links.
    func makeHardLinks(
        _ links: [SyncPlan.HardLink], replaces: Bool, _ report: @escaping SyncReport<SyncPlan.HardLink>
    ) async throws(TransferFailure)

    /// Sends files. One whose content was there gets its attributes later: it is told as `alreadyStored`.
    func take(
        _ files: [SyncPlan.File], _ tell: @escaping @Sendable (SyncEvent) -> Void,
        _ report: @escaping SyncReport<SyncPlan.File>
    ) async throws(TransferFailure)
}

/// The side that stays as it is.
protocol SyncSource: Sendable {
    /// Which of some paths nothing has now.
    ///
    /// - Throws: when the tree is not the one any more that was looked at.
    func missing(of paths: [RelativePath]) async throws(TransferFailure) -> Set<RelativePath>
}
