import TransferCatalog
import TransferProtocol
import TransferSystem

/// The last uploads that were acknowledged, by id, so that a replay after a lost acknowledgement costs no look into the
/// catalog, and gets an answer where there is none.
final class RecentResults: Sendable {
    private struct State {
        /// In the order in which they came, as a ring.
        var entries: [CatalogEntry] = []
        /// Where in the ring each id is. Numbers, because a table moves what is in it when it grows.
        var places: [UploadID: Int] = [:]
        var oldest = 0
        var hasForgotten = false
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of several clients.
    static let capacity = 4 * Limits.unacknowledgedUploads

    private let state = Locked(State())

    /// - Returns: what is known of the id, and whether nothing was forgotten so far.
    func find(_ id: UploadID) -> (entry: CatalogEntry?, isComplete: Bool) {
        state.withLock { state in (state.places[id].map { state.entries[$0] }, !state.hasForgotten) }
    }

    func add(_ entries: [CatalogEntry]) {
        state.withLock { state in
            for entry in entries { Self.add(entry, to: &state) }
        }
    }

    private static func add(_ entry: CatalogEntry, to state: inout State) {
        if let place = state.places[entry.id] {
            state.entries[place] = entry
        } else if state.entries.count < capacity {
            state.places[entry.id] = state.entries.count
            state.entries.append(entry)
        } else {
            state.hasForgotten = true
            state.places[state.entries[state.oldest].id] = nil
            state.places[entry.id] = state.oldest
            state.entries[state.oldest] = entry
            state.oldest = (state.oldest + 1) % capacity
        }
    }
}
