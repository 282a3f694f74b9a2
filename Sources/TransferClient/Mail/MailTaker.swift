import TransferModel
import TransferProtocol

/// Takes the list of a mailbox.
final class MailTaker: AnswerTaker {
    private let request: MailRequest
    private let taken: @Sendable ([Delivery]) -> Taken
    private let ended: @Sendable (Outcome?) -> Void

    /// - Parameters:
    ///   - taken: receives deliveries, on the pool; returns whether the rest of the list is wanted.
    ///   - ended: called once at the end, with nil if the connection was lost before.
    init(
        _ request: MailRequest, taken: @escaping @Sendable ([Delivery]) -> Taken,
        ended: @escaping @Sendable (Outcome?) -> Void
    ) {
        (self.request, self.taken, self.ended) = (request, taken, ended)
    }

    var asked: PendingRequest { PendingRequest(.mail(request), self) }

    func take(_ deliveries: [ListedDelivery]) -> Taken {
        taken(deliveries.map { Delivery($0) })
    }

    func end(_ outcome: Outcome) { ended(outcome) }

    func lost() { ended(nil) }
}
