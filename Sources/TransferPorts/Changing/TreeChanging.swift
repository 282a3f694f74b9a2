package import TransferModel

/// Makes, moves and removes what is stored, and gives it other attributes. Synchronous and safe to call from any thread; what it returns
/// belongs to one task at a time.
///
///     changes ─► prepare ─► make* ─► commit ─► (make* ─► commit)* ─► finish
///     remover ─► begin ─► TreeRemoval.step* ─► true ─► commit
///
/// What is changed is visible at once, and durable when `commit` has returned. A change fails by itself: others of its batch are made.
package protocol TreeChanging: StoredTree {
    /// For a batch of changes that are made durable together.
    ///
    /// - Parameter command: the command of the client that they are part of, where that is known.
    func changes(for command: StoringCommand?) -> any TreeEditing

    /// For removals that are made durable together.
    func remover() -> any TreeRemover

    /// Whether changes and the records of uploads are one transaction: then nothing is noted before a change, `TreeEditing.commit` completes
    /// the records as well, and if it throws, nothing of what it was to commit was made. A step of a removal takes the records of its files
    /// along, and if it throws, it has removed nothing.
    var recordsChanges: Bool { get }

    // MARK: What came of changes

    /// Makes durable what names there are in the folders of these paths, and above: an earlier process may have ended before it did.
    ///
    /// - Returns: false where that cannot be done, and where one of the folders is doubted.
    func confirmNames(of paths: [RelativePath]) -> Bool

    /// Whether one of the folders of these paths is there and is doubted: nothing that is found there is known to be durable.
    func isDoubted(_ paths: [RelativePath]) -> Bool

    // MARK: The trash

    /// What would be free without a part of the trash. Looks at every file in it.
    func freeable(_ batch: TrashBatch) -> FreeableRoom

    /// Removes folders of the trash that are empty, and those above them.
    func tidyTrash(_ folders: Set<RelativePath>)
}

extension TreeChanging {
    package var recordsChanges: Bool { false }
}

/// Makes changes that were planned together, each of them whole or not at all.
package protocol TreeEditing: AnyObject {
    /// Does what is done once for all of them, before anything loses its name: what gives way gets a name in the trash, and folders that
    /// things are moved to are made. What fails here fails the change that needs it. To be called once, first.
    func prepare(_ changes: [PlannedChange])

    /// Makes one of them, visibly and not yet durably. Not while `isFull`.
    ///
    /// - Throws: `notFound`, `pathConflict`, `wrongForm`, `invalidPath`; `busy` for another object than was expected; `sourceChanged` for
    ///   another content than was compared; `storageFailed`, `insufficientStorage`. A change that fails may have been made in part.
    func make(_ change: PlannedChange) throws(Failure) -> MadeChange

    /// Whether `commit` has to be called before anything else is made.
    var isFull: Bool { get }

    /// Makes durable what was made since the last call.
    ///
    /// - Parameter changes: what has become of files by that, for a store that `recordsChanges`.
    /// - Throws: where it cannot be told what of it will be durable.
    func commit(_ changes: KnownChanges) throws(Failure)

    /// Takes away what was prepared and is not needed. To be called once, last.
    ///
    /// - Returns: files that have their paths still, and are another version for that. As long as this lives,
    ///   `ContentStore.isAboutToGiveWay` knows their versions from before.
    func finish() -> [TouchedFile]
}

/// Removes what clients ask to be removed.
package protocol TreeRemover: AnyObject {
    /// Begins with a file, link or folder; a file or link is gone when this returns.
    ///
    /// - Parameters:
    ///   - isRecursive: whether it may be a folder.
    ///   - version: that a file has to have still; nil for whatever is there.
    /// - Throws: `notFound`; `wrongForm` for a folder that was not asked for; `fileChanged` for another version.
    func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion?
    ) throws(Failure) -> any TreeRemoval

    /// Whether `commit` has to be called before another removal.
    var isFull: Bool { get }

    /// Makes durable that what was removed is gone, of those removals whose `step` has returned true since the last call.
    ///
    /// - Throws: what the store says, which then holds for all of them.
    func commit() throws(Failure)
}

/// A removal that is under way, a bounded number of names at a time. What is left when it is given up stays.
package protocol TreeRemoval: AnyObject {
    /// Goes on.
    ///
    /// - Parameter count: of names to look at.
    /// - Returns: whether all is gone.
    /// - Throws: `busy` where somebody moves it meanwhile, `pathConflict` where somebody adds to it all the time, `storageFailed`.
    func step(_ count: Int) throws(Failure) -> Bool

    /// The files that are gone since this was last asked.
    func takeRemoved() -> [RemovedFile]
}

extension Failure {
    package static func taken(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) is taken by something that is not replaced.")
    }

    /// A change expects another object than it finds.
    package static func isReplaced(_ path: RelativePath) -> Failure {
        Failure(.busy, "\(path) was replaced just now: it may be changed later.")
    }
}

/// Bytes that are free when something in the trash is gone: files with other names free nothing.
package struct FreeableRoom: Equatable, Sendable {
    /// As they count against the quota.
    package var stored: UInt64 = 0

    /// As they take room in the store.
    package var onDisk: UInt64 = 0

    package init(stored: UInt64 = 0, onDisk: UInt64 = 0) { (self.stored, self.onDisk) = (stored, onDisk) }
}
