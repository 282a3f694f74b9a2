import TransferModel
import TransferSystem

/// Is told of what is pulled for deliveries.
final class ReceiveAudience: PullAudience {
    private let events: EventQueue<ReceiveEvent>

    /// The plan holds the pull, and with it this.
    let plan = Locked(WeakPlan(plan: nil))

    init(_ events: EventQueue<ReceiveEvent>) {
        self.events = events
    }

    var isFull: Bool { events.isFull }

    func send(_ event: PullEvent) {
        switch event {
        case .finished(let report): plan.withLock { $0.plan }?.fetched(report)
        case .progress(let progress): events.send(.progress(progress))
        // The plan says these itself, and deliveries are in no folder.
        case .connected, .reconnecting, .known, .counted, .planned: break
        }
    }
}

struct WeakPlan: Sendable {
    weak let plan: ReceivePlan?
}
