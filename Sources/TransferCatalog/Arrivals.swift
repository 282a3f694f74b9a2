internal import TransferModel
import TransferPorts
internal import TransferSystem

/// What the table of arrivals holds, for those who look an upload up: on disk it cannot be found by id.
final class Arrivals: Sendable {
    private struct Batch {
        let entries: [CatalogEntry]
        /// As they stand in the table.
        let bytes: Int
    }

    private struct State {
        var batches: [Batch] = []
        /// The number of the first of them; those of all that were added grow.
        var first = 0
        var count = 0
        var bytes = 0
        /// Batch and index of each id, of the first `indexed` batches. Made when somebody asks: mostly nobody does.
        var places: [UploadID: (batch: Int, index: Int)] = [:]
        var indexed = 0
    }

    private let state = Locked(State())

    /// Entries, also those whose id came again.
    var count: Int { state.withLock { $0.count } }

    /// Bytes of the entries as they stand in the table.
    var bytes: Int { state.withLock { $0.bytes } }

    /// Behind all that was added so far.
    var end: Int { state.withLock { $0.first + $0.batches.count } }

    /// - Parameter bytes: of these entries as they stand in the table.
    func add(_ entries: [CatalogEntry], bytes: Int) {
        state.withLock { state in
            state.batches.append(Batch(entries: entries, bytes: bytes))
            state.count += entries.count
            state.bytes += bytes
        }
    }

    /// - Returns: what came last with the id.
    func find(_ id: UploadID) -> CatalogEntry? {
        state.withLock { state in
            while state.indexed < state.batches.count {
                let entries = state.batches[state.indexed].entries
                for index in entries.indices { state.places[entries[index].id] = (state.indexed, index) }
                state.indexed += 1
            }
            return state.places[id].map { state.batches[$0.batch].entries[$0.index] }
        }
    }

    /// What was added first is indexed.
    ///
    /// - Parameter end: what `end` was when all of that had been added.
    func remove(before end: Int) {
        state.withLock { state in
            let count = min(max(0, end - state.first), state.batches.count)
            let rest = Array(state.batches.dropFirst(count))
            state = State(
                batches: rest, first: state.first + count, count: rest.reduce(0) { $0 + $1.entries.count },
                bytes: rest.reduce(0) { $0 + $1.bytes })
        }
    }

    func removeAll() { remove(before: .max) }
}
