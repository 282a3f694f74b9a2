import Synchronization
import TransferCatalog
import TransferModel
import TransferSystem

/// The last uploads that were acknowledged, by id, so that a replay after a lost acknowledgement costs no look into the
/// catalog, and gets an answer where there is none; and those that are just being completed, so that a replay does not
/// meet what its own first attempt is about to leave.
final class RecentResults: Sendable {
    /// Where an entry is.
    private struct Place {
        let batch: Int
        let index: Int
        /// Whether the answer may be wrong by now: what is left is that the upload was completed, and when.
        var isForgotten = false

        func isSame(as other: Place) -> Bool { batch == other.batch && index == other.index }
    }

    private struct State {
        /// By their numbers, which grow. As they came: copying their entries would cost more than all else here.
        var batches: [Int: [CatalogEntry]] = [:]
        var oldest = 0
        var next = 0
        /// Entries in all of them, also those whose id came again.
        var count = 0
        var places: [UploadID: Place] = [:]
        /// Uploads that are being completed, and not added yet.
        var claims: Set<UploadID> = []
    }

    /// An upload that is all there.
    struct Claim {
        let id: UploadID
        /// The `moment` before it was looked for here.
        let begun: Int
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of four clients.
    static let capacity = 16_384

    private let state = Locked(State())
    private let batches = Atomic(0)

    /// Grows whenever uploads are added.
    var moment: Int { batches.load(ordering: .acquiring) }

    /// Asks for the right to complete uploads, which is to be released when they are added or have failed.
    ///
    /// - Returns: the positions of those that another connection completes, or has completed since they began.
    func claim(_ claims: [Claim]) -> [Int] {
        state.withLock { state in
            claims.indices.filter { index in
                let claim = claims[index]
                if let place = state.places[claim.id], place.batch >= claim.begun { return true }
                return !state.claims.insert(claim.id).inserted
            }
        }
    }

    func isClaimed(_ id: UploadID) -> Bool { state.withLock { $0.claims.contains(id) } }

    func release(_ ids: some Sequence<UploadID>) {
        state.withLock { state in
            for id in ids { state.claims.remove(id) }
        }
    }

    /// - Returns: what is known of the id.
    func find(_ id: UploadID) -> CatalogEntry? {
        state.withLock { state in
            state.places[id].flatMap { place in
                place.isForgotten ? nil : state.batches[place.batch]?[place.index]
            }
        }
    }

    func add(_ entries: [CatalogEntry]) {
        state.withLock { state in
            for index in entries.indices { state.places[entries[index].id] = Place(batch: state.next, index: index) }
            state.batches[state.next] = entries
            state.next += 1
            batches.store(state.next, ordering: .releasing)
            state.count += entries.count
            while state.count > Self.capacity { Self.forgetOldest(&state) }
        }
    }

    /// Forgets what was acknowledged under these paths: the catalog knows better by now. An older copy of such an upload is still
    /// refused by `claim`.
    func forget(_ paths: Set<PathKey>) {
        state.withLock { state in
            for (id, place) in state.places {
                guard let entry = state.batches[place.batch]?[place.index], paths.contains(PathKey(entry.path)) else {
                    continue
                }
                state.places[id]?.isForgotten = true
            }
        }
    }

    private static func forgetOldest(_ state: inout State) {
        let entries = state.batches.removeValue(forKey: state.oldest) ?? []
        for (index, entry) in entries.enumerated() {
            let place = Place(batch: state.oldest, index: index)
            // It may have come again.
            if state.places[entry.id]?.isSame(as: place) ?? false { state.places[entry.id] = nil }
        }
        state.count -= entries.count
        state.oldest += 1
    }
}
