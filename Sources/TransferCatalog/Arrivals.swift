internal import TransferModel
internal import TransferSystem

/// What the table of arrivals holds, for those who look an upload up: on disk it cannot be found by id.
final class Arrivals: Sendable {
    private struct State {
        var batches: [[CatalogEntry]] = []
        var count = 0
        /// Batch and index of each id, of the first `indexed` batches. Made when somebody asks: mostly nobody does.
        var places: [UploadID: (batch: Int, index: Int)] = [:]
        var indexed = 0
    }

    private let state = Locked(State())

    /// Entries, also those whose id came again.
    var count: Int { state.withLock { $0.count } }

    func add(_ entries: [CatalogEntry]) {
        state.withLock { state in
            state.batches.append(entries)
            state.count += entries.count
        }
    }

    /// - Returns: what came last with the id.
    func find(_ id: UploadID) -> CatalogEntry? {
        state.withLock { state in
            while state.indexed < state.batches.count {
                let entries = state.batches[state.indexed]
                for index in entries.indices { state.places[entries[index].id] = (state.indexed, index) }
                state.indexed += 1
            }
            return state.places[id].map { state.batches[$0.batch][$0.index] }
        }
    }

    func removeAll() {
        state.withLock { $0 = State() }
    }
}
