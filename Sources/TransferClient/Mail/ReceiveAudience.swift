import TransferModel
import TransferSystem

/// Receives the events of the pull that fetches deliveries.
final class ReceiveAudience: PullAudience {
    private let events: EventQueue<ReceiveEvent>

    /// The plan; weak, because the plan owns the pull, and the pull owns this object.
    let plan = Locked(WeakPlan(plan: nil))

    init(_ events: EventQueue<ReceiveEvent>) {
        self.events = events
    }

    var isFull: Bool { events.isFull }

    func send(_ event: PullEvent) {
        switch event {
        case .finished(let report): plan.withLock { $0.plan }?.fetched(report)
        case .progress(let progress): events.send(.progress(progress))
        // The plan sends these events itself, and deliveries are in no folder.
        case .connected, .reconnecting, .known, .counted, .planned: break
        }
    }
}

struct WeakPlan: Sendable {
    weak let plan: ReceivePlan?
}
