import TransferModel
import TransferProtocol
import TransferSystem

/// Asks one thing that is answered with nothing but an outcome.
final class OutcomeQuestion: Sendable, AnswerTaker {
    let queue = RequestQueue(needs: .mail)
    private let request: Request
    private let reason = Locked<TransferFailure?>(nil)

    init(_ request: Request) {
        self.request = request
        queue.add(PendingRequest(request, self))
    }

    /// Why it was not done.
    var failure: TransferFailure? { reason.withLock { $0 } }

    func end(_ outcome: Outcome) {
        if outcome.code != .completed { reason.withLock { $0 = TransferFailure(outcome) } }
        queue.answered()
    }

    func lost() { queue.again(PendingRequest(request, self)) }
}
