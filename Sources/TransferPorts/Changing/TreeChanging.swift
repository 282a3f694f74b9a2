package import TransferModel

/// Makes, moves and removes what is stored, and changes its attributes. Synchronous and safe to call from any thread;
/// what it returns is used by one task at a time.
///
///     changes ─► prepare ─► make* ─► commit ─► (make* ─► commit)* ─► finish
///     remover ─► begin ─► TreeRemoval.step* ─► true ─► commit
///
/// A change is visible at once, and durable when `commit` has returned. If one change of a batch fails, the others are
/// made.
package protocol TreeChanging: StoredTree {
    /// Begins a batch of changes that are made durable together.
    ///
    /// - Parameter command: the client's command that the changes belong to, if it is known.
    func changes(for command: StoringCommand?) -> any TreeEditing

    /// Begins removals that are made durable together.
    func remover() -> any TreeRemover

    /// Whether changes and the records of uploads are one transaction. Then nothing is noted before a change, and
    /// `TreeEditing.commit` completes the records as well; if it throws, none of the changes was made. A step of a
    /// removal also removes the records of the files; if it throws, it has removed nothing.
    var recordsChanges: Bool { get }

    // MARK: The outcome of changes

    /// Makes the names durable in the folders of these paths, and in those above. An earlier process may have ended
    /// before it made them durable.
    ///
    /// - Returns: false if the names cannot be made durable, or if one of the folders is in doubt.
    func confirmNames(of paths: [RelativePath]) -> Bool

    /// Whether a folder of one of these paths is in doubt: nothing in it is known to be durable.
    func isDoubted(_ paths: [RelativePath]) -> Bool

    // MARK: The trash

    /// The room that removing a trash batch would free. Looks at every file in it.
    func freeable(_ batch: TrashBatch) -> FreeableRoom

    /// Removes empty folders of the trash, and those above them.
    func tidyTrash(_ folders: Set<RelativePath>)
}

extension TreeChanging {
    package var recordsChanges: Bool { false }
}

/// Makes changes that were planned together, each as a whole or not at all.
package protocol TreeEditing: AnyObject {
    /// Does what is done once for all changes, before anything loses its name: files that will be replaced get a name
    /// in the trash, and the target folders of moves are made. If this fails for one change, only that change fails.
    /// Has to be called first, once.
    func prepare(_ changes: [PlannedChange])

    /// Makes one of the changes: visible, but not durable yet. Must not be called while `isFull`.
    ///
    /// - Throws: `notFound`, `pathConflict`, `wrongForm`, `invalidPath`; `busy` if the object is not the expected one;
    ///   `sourceChanged` if the content is not the one that was compared; `storageFailed`, `insufficientStorage`. A
    ///   change that fails may have been made in part.
    func make(_ change: PlannedChange) throws(Failure) -> MadeChange

    /// Whether `commit` has to be called before another change is made.
    var isFull: Bool { get }

    /// Makes the changes durable that were made since the last call.
    ///
    /// - Parameter changes: what the changes did to files, for a store that `recordsChanges`.
    /// - Throws: if it is unknown which of the changes will be durable.
    func commit(_ changes: KnownChanges) throws(Failure)

    /// Removes what was prepared and is not needed. Has to be called last, once.
    ///
    /// - Returns: files that have kept their paths and have other versions. While this object exists,
    ///   `ContentStore.isAboutToGiveWay` knows their old versions.
    func finish() -> [TouchedFile]
}

/// Removes what clients ask to remove.
package protocol TreeRemover: AnyObject {
    /// Begins to remove a file, link or folder. A file or link is removed when this returns.
    ///
    /// - Parameters:
    ///   - isRecursive: whether it may be a folder.
    ///   - version: the version that a file must have; nil for any.
    /// - Throws: `notFound`; `wrongForm` for a folder if `isRecursive` is false; `fileChanged` for another version.
    func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion?
    ) throws(Failure) -> any TreeRemoval

    /// Whether `commit` has to be called before another removal.
    var isFull: Bool { get }

    /// Makes the removals durable whose `step` has returned true since the last call.
    ///
    /// - Throws: the error of the store, which then applies to all of them.
    func commit() throws(Failure)
}

/// A removal that is under way; each step looks at a limited number of names. If the removal is given up, the rest
/// stays.
package protocol TreeRemoval: AnyObject {
    /// Continues the removal.
    ///
    /// - Parameter count: the number of names to look at.
    /// - Returns: whether all is removed.
    /// - Throws: `busy` if the folder is moved meanwhile, `pathConflict` if entries are added to it all the time,
    ///   `storageFailed`.
    func step(_ count: Int) throws(Failure) -> Bool

    /// The files that were removed since the last call.
    func takeRemoved() -> [RemovedFile]
}

extension Failure {
    package static func taken(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) exists already, and is not replaced.")
    }

    /// A change finds another object than it expects.
    package static func isReplaced(_ path: RelativePath) -> Failure {
        Failure(.busy, "\(path) is just being replaced: try again later.")
    }
}

/// Bytes that become free when something in the trash is removed. Files with other names free nothing.
package struct FreeableRoom: Equatable, Sendable {
    /// Bytes that count against the quota.
    package var stored: UInt64 = 0

    /// Bytes of room in the store.
    package var onDisk: UInt64 = 0

    package init(stored: UInt64 = 0, onDisk: UInt64 = 0) { (self.stored, self.onDisk) = (stored, onDisk) }
}
