import TransferCatalog
import TransferModel
import TransferSystem

/// The uploads in parts that the catalog says are unfinished, or will say when somebody has the time: nobody waits for
/// that. Each is written once, whatever number of connections brings it.
final class UnfinishedUploads: Sendable {
    private struct State {
        var ids: Set<UploadID> = []
        /// Not in the catalog yet.
        var waiting: [CatalogEntry] = []
    }

    private let state = Locked(State())

    /// How many are noted at most: more than there may be parts in the store, so that only who begins uploads to leave them
    /// meets it. Those beyond can be resumed like others.
    private static let most = 32_768

    /// What the catalog knew.
    func add(_ ids: [UploadID]) {
        state.withLock { $0.ids.formUnion(ids) }
    }

    /// Work on an upload begins.
    ///
    /// - Returns: whether it has to be written, and nobody has been asked to do that yet.
    func begin(_ entry: CatalogEntry) -> Bool {
        state.withLock { state in
            guard state.ids.count < Self.most, state.ids.insert(entry.id).inserted else { return false }
            state.waiting.append(entry)
            return state.waiting.count == 1
        }
    }

    /// They have their acknowledgement, which is recorded by itself.
    func end(_ ids: some Sequence<UploadID>) {
        state.withLock { state in
            guard !state.ids.isEmpty else { return }
            for id in ids where state.ids.remove(id) != nil { state.waiting.removeAll { $0.id == id } }
        }
    }

    /// - Returns: what is to be written; the caller's from now on.
    func takeWaiting() -> [CatalogEntry] {
        state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
    }

    /// Forgets all but those that somebody can go on with.
    ///
    /// - Parameter isThere: is asked without the lock.
    /// - Returns: the others.
    func removeAll(unless isThere: (UploadID) -> Bool) -> [UploadID] {
        let gone = state.withLock { $0.ids }.filter { !isThere($0) }
        end(gone)
        return Array(gone)
    }
}
