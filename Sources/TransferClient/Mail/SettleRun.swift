import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSystem

/// Reports to a server that the caller has made deliveries durable, or does not want them.
final class SettleRun: Sendable {
    private let context: RequestContext
    private let said: Said
    private let events: EventQueue<Never>
    private let firstFailure = Locked<TransferFailure?>(nil)
    let queue = RequestQueue(needs: .mail)

    /// What the client reports about deliveries.
    enum Said: Sendable {
        case delivered([VerifiedDelivery])
        case declined([Delivery])
    }

    init(_ context: RequestContext, _ said: Said, _ events: EventQueue<Never>) {
        (self.context, self.said, self.events) = (context, said, events)
    }

    /// The first failure; nil if there was none.
    var failure: TransferFailure? { firstFailure.withLock { $0 } }

    /// Puts the requests into the queue.
    func begin() {
        guard case .delivered = said, context.configuration.key != nil else { return settle(nil) }
        queue.add(name.asked)
    }

    private var name: PeopleTaker {
        PeopleTaker(
            isAboutItself: true, ListBudget(context.configuration.listMemory),
            ended: { [self] found in
                settle((try? found.get())?.first?.name)
                queue.answered()
            },
            lost: { [self] in queue.again(name.asked) })
    }

    private func settle(_ name: String?) {
        let serverKey = queue.server?.receiptKey
        let signer = name.flatMap { name in
            context.configuration.key.map { DeliverySigner(key: $0, name: name, server: serverKey) }
        }
        switch said {
        case .delivered(let deliveries):
            var rest = deliveries[...]
            while !rest.isEmpty {
                let count = Settlement.batch(rest.lazy.map(\.delivery), signer)
                ask(Settlement(delivered: Array(rest.prefix(count)), signer), isAgain: false)
                rest = rest.dropFirst(count)
            }
        case .declined(let deliveries):
            var rest = deliveries[...]
            while !rest.isEmpty {
                ask(Settlement(declined: Array(rest.prefix(SettleRequest.mostDeliveries))), isAgain: false)
                rest = rest.dropFirst(SettleRequest.mostDeliveries)
            }
        }
    }

    private func ask(_ settlement: Settlement, isAgain: Bool) {
        let taker = SettleTaker(settlement) { [self] outcome in
            guard let outcome else { return ask(settlement, isAgain: true) }
            if outcome.code == .forbidden, settlement.signature != nil {
                return ask(settlement.unsigned, isAgain: true)
            }
            if outcome.code != .completed {
                firstFailure.withLock { $0 = $0 ?? TransferFailure(outcome) }
            }
            queue.answered()
        }
        if isAgain { queue.again(taker.asked) } else { queue.add(taker.asked) }
    }
}
