import TransferClient
import TransferModel

/// All events of one sync.
struct Synced {
    var changes: [SyncChange] = []
    var summary: SyncSummary?
    var failure: TransferFailure?

    init(_ events: RequestEvents<SyncEvent>) async {
        let (events, failure) = await all(events)
        self.failure = failure
        for event in events {
            switch event {
            case .finished(let change): changes.append(change)
            case .ended(let summary): self.summary = summary
            default: break
            }
        }
    }

    /// Action and path of each change, sorted.
    var lines: [String] { changes.map { "\($0.action.rawValue) \($0.path)" }.sorted() }

    var failures: [String] {
        changes.filter { !$0.isDone }.map { "\($0.action.rawValue) \($0.path): \($0.result) \($0.message)" }
    }
}
