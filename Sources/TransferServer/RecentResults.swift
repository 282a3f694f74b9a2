import TransferSystem
import TransferProtocol

/// Acknowledgements of the last uploads by id, so that a replay after a lost acknowledgement gets the same one again
/// without storing anything. Older ones are recognised by their content under the name.
final class RecentResults: Sendable {
    /// An acknowledgement and the path that it is about, which a replay may not repeat.
    struct Entry {
        var result: UploadResult
        let path: String
    }

    private struct State {
        var results: [UploadID: Entry] = [:]
        /// Ids in the order of their results, as a ring.
        var order: [UploadID] = []
        var oldest = 0
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of several clients.
    static let capacity = 4 * Limits.unacknowledgedUploads

    private let state = Locked(State())

    subscript(id: UploadID) -> Entry? {
        state.withLock { $0.results[id] }
    }

    func add(_ result: UploadResult, path: String) {
        let entry = Entry(result: result, path: path)
        state.withLock { state in
            guard state.results.updateValue(entry, forKey: result.id) == nil else { return }
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
