internal import TransferModel
import TransferPorts
internal import TransferSystem

/// A copy in memory of the table of arrivals, for lookups by id: the table itself has no index of ids.
final class Arrivals: Sendable {
    private struct Batch {
        let entries: [CatalogEntry]
        /// Bytes of the entries in the table.
        let bytes: Int
    }

    private struct State {
        var batches: [Batch] = []
        /// The number of the first batch; batches have growing numbers.
        var first = 0
        var count = 0
        var bytes = 0
        /// For each id in the first `indexed` batches: its batch and its index in the batch. The table is filled by
        /// lookups, because they are rare.
        var places: [UploadID: (batch: Int, index: Int)] = [:]
        var indexed = 0
    }

    private let state = Locked(State())

    /// Number of entries; an id that was recorded twice counts twice.
    var count: Int { state.withLock { $0.count } }

    /// Bytes of the entries in the table.
    var bytes: Int { state.withLock { $0.bytes } }

    /// The number that the next batch will get.
    var end: Int { state.withLock { $0.first + $0.batches.count } }

    /// - Parameter bytes: bytes of these entries in the table.
    func add(_ entries: [CatalogEntry], bytes: Int) {
        state.withLock { state in
            state.batches.append(Batch(entries: entries, bytes: bytes))
            state.count += entries.count
            state.bytes += bytes
        }
    }

    /// - Returns: the newest entry with the id.
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

    /// Removes the first batches, because they have been moved to the table of uploads.
    ///
    /// - Parameter end: the value of `end` after the last of these batches was added.
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
