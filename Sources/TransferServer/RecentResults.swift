import TransferCatalog
import TransferProtocol
import TransferSystem

/// The last uploads that were acknowledged, by id, so that a replay after a lost acknowledgement costs no look into the
/// catalog, and gets an answer where there is none.
final class RecentResults: Sendable {
    /// Where an entry is.
    private struct Place: Equatable {
        let batch: Int
        let index: Int
    }

    private struct State {
        /// By their numbers, which grow. As they came: copying their entries would cost more than all else here.
        var batches: [Int: [CatalogEntry]] = [:]
        var oldest = 0
        var next = 0
        /// Entries in all of them, also those whose id came again.
        var count = 0
        var places: [UploadID: Place] = [:]
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of several clients.
    static let capacity = 4 * Limits.unacknowledgedUploads

    private let state = Locked(State())

    /// - Returns: what is known of the id.
    func find(_ id: UploadID) -> CatalogEntry? {
        state.withLock { state in
            state.places[id].flatMap { place in state.batches[place.batch]?[place.index] }
        }
    }

    func add(_ entries: [CatalogEntry]) {
        state.withLock { state in
            for index in entries.indices { state.places[entries[index].id] = Place(batch: state.next, index: index) }
            state.batches[state.next] = entries
            state.next += 1
            state.count += entries.count
            while state.count > Self.capacity { Self.forgetOldest(&state) }
        }
    }

    private static func forgetOldest(_ state: inout State) {
        let entries = state.batches.removeValue(forKey: state.oldest) ?? []
        for (index, entry) in entries.enumerated() {
            let place = Place(batch: state.oldest, index: index)
            // It may have come again.
            if state.places[entry.id] == place { state.places[entry.id] = nil }
        }
        state.count -= entries.count
        state.oldest += 1
    }
}
