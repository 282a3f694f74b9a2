import TransferModel
import TransferProtocol
import TransferSystem

/// A request whose whole answer is an outcome.
final class OutcomeQuestion: Sendable, AnswerTaker {
    let queue = RequestQueue(needs: .mail)
    private let request: Request
    private let reason = Locked<TransferFailure?>(nil)

    init(_ request: Request) {
        self.request = request
        queue.add(PendingRequest(request, self))
    }

    /// Why the request was not met; nil if it was, or has no answer yet.
    var failure: TransferFailure? { reason.withLock { $0 } }

    func end(_ outcome: Outcome) {
        if outcome.code != .completed { reason.withLock { $0 = TransferFailure(outcome) } }
        queue.answered()
    }

    func lost() { queue.again(PendingRequest(request, self)) }
}
