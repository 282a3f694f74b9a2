internal import Synchronization
import TransferProtocol

/// Acknowledgements of the last uploads by id, so that a replay after a lost acknowledgement gets the same one again
/// without storing anything. Older ones are recognised by their content under the name.
final class RecentResults: Sendable {
    private struct State {
        var results: [UploadID: UploadResult] = [:]
        /// Ids in the order of their results, as a ring.
        var order: [UploadID] = []
        var oldest = 0
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of several clients.
    static let capacity = 4 * Limits.unacknowledgedUploads

    private let state = Mutex(State())

    subscript(id: UploadID) -> UploadResult? {
        state.withLock { $0.results[id] }
    }

    func add(_ result: UploadResult) {
        state.withLock { state in
            guard state.results.updateValue(result, forKey: result.id) == nil else { return }
            guard state.order.count == Self.capacity else {
                state.order.append(result.id)
                return
            }
            state.results[state.order[state.oldest]] = nil
            state.order[state.oldest] = result.id
            state.oldest = (state.oldest + 1) % Self.capacity
        }
    }
}
