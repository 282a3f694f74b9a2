import TransferModel
import TransferProtocol

/// Takes what is in a mailbox.
final class MailTaker: AnswerTaker {
    private let request: MailRequest
    private let taken: @Sendable ([Delivery]) -> Void
    private let ended: @Sendable (Outcome?) -> Void

    /// - Parameters:
    ///   - taken: called on the pool.
    ///   - ended: called once at the end; with nothing when the connection was lost before.
    init(
        _ request: MailRequest, taken: @escaping @Sendable ([Delivery]) -> Void,
        ended: @escaping @Sendable (Outcome?) -> Void
    ) {
        (self.request, self.taken, self.ended) = (request, taken, ended)
    }

    var asked: PendingRequest { PendingRequest(.mail(request), self) }

    func take(_ deliveries: [ListedDelivery]) -> Taken {
        taken(deliveries.map { Delivery($0) })
        return .wanted
    }

    func end(_ outcome: Outcome) { ended(outcome) }

    func lost() { ended(nil) }
}
