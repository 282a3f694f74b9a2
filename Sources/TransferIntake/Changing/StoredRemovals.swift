package import TransferModel
package import TransferStore

/// Removes what is stored, for one connection, and lets the catalog know. Whether the client may is asked before. Used by one
/// thread at a time.
package final class StoredRemovals {
    private let intake: Intake
    private let store: FileStore
    private var remover: StoreRemover?

    /// Names that are looked at before others have their turn.
    private static let namesAtOnce = 512

    package init(_ intake: Intake, _ store: FileStore) {
        (self.intake, self.store) = (intake, store)
    }

    /// - Parameter version: that a file has to have still; nothing for whatever is there.
    package func begin(
        _ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil
    ) throws(Failure) -> Removal {
        let remover = remover ?? store.remover()
        self.remover = remover
        return try remover.begin(path, isRecursive: isRecursive, of: version)
    }

    /// Removes some of it.
    ///
    /// - Parameter files: is told how many files are gone, also when it fails.
    /// - Returns: whether all is gone; then `commit` has to follow.
    package func goOn(_ removal: Removal, gone files: inout UInt64) throws(Failure) -> Bool {
        defer { files += forget(removal.takeRemoved()) }
        return try removal.step(Self.namesAtOnce)
    }

    /// Whether what was removed has to be made durable before anything else is.
    package var mustCommit: Bool { remover?.isFull ?? false }

    /// Makes removals durable.
    package func commit(_ removals: [Removal]) throws(Failure) { try remover?.commit(removals) }

    /// What has its path again by now, somebody else has stored since.
    ///
    /// - Returns: how many there are.
    private func forget(_ files: [Removal.File]) -> UInt64 {
        guard !files.isEmpty else { return 0 }
        intake.known.settleIfNeeded()
        intake.quotas.removed(files)
        let gone = files.map(\.path).filter { path in store.version(at: path) == nil }
        intake.known.forget(gone.map(\.string))
        return UInt64(files.count)
    }
}
