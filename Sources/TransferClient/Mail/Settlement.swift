import TransferModel
import TransferProtocol

/// The report on some deliveries, sent with one request. Sending it again changes nothing on the server.
struct Settlement: Sendable {
    let verdict: SettleRequest.Verdict
    let deliveries: [Delivery]
    let time: Int64
    let signature: [UInt8]?

    /// Reports that content is durable here, with a signature.
    ///
    /// - Parameters:
    ///   - deliveries: each once, up to `SettleRequest.mostDeliveries`.
    ///   - signer: nil for a client without a key, or without a name.
    init(delivered deliveries: [VerifiedDelivery], _ signer: DeliverySigner?) {
        (verdict, self.deliveries, time) = (.delivered, deliveries.map(\.delivery), Self.now)
        signature = signer?.sign(deliveries, time: time)
    }

    /// Reports that content is not wanted, without a signature.
    ///
    /// - Parameter deliveries: each once, up to `SettleRequest.mostDeliveries`.
    init(declined deliveries: [Delivery]) {
        (verdict, self.deliveries, time, signature) = (.declined, deliveries, Self.now, nil)
    }

    /// UTC, in milliseconds since 1970.
    private static var now: Int64 {
        let now = Timestamp.now
        return max(0, now.seconds) * 1_000 + Int64(now.nanoseconds / 1_000_000)
    }

    private init(unsigned other: Settlement) {
        (verdict, deliveries, time, signature) = (other.verdict, other.deliveries, other.time, nil)
    }

    /// The same report without a signature, for a server that identifies this client by other means than its key.
    var unsigned: Settlement { Settlement(unsigned: self) }

    var request: Request {
        .settle(SettleRequest(id: 0, verdict, time: time, deliveries.map(\.id), signature: signature))
    }

    /// The number of deliveries, from the first one on, that go into one settlement: either all of these can be signed,
    /// or none can.
    static func batch(_ deliveries: some Sequence<Delivery>, _ signer: DeliverySigner?) -> Int {
        guard let signer else { return deliveries.prefix(SettleRequest.mostDeliveries).count { _ in true } }
        var (count, isSigned) = (0, nil as Bool?)
        for delivery in deliveries {
            let canSign = signer.canSign(delivery)
            guard count < SettleRequest.mostDeliveries, isSigned ?? canSign == canSign else { break }
            (count, isSigned) = (count + 1, canSign)
        }
        return count
    }
}

/// Takes the answer to a settlement.
final class SettleTaker: AnswerTaker {
    private let settlement: Settlement
    private let ended: @Sendable (Outcome?) -> Void

    /// - Parameter ended: called once, on the pool, with nil if the connection was lost before.
    init(_ settlement: Settlement, ended: @escaping @Sendable (Outcome?) -> Void) {
        (self.settlement, self.ended) = (settlement, ended)
    }

    var asked: PendingRequest { PendingRequest(settlement.request, self) }

    func end(_ outcome: Outcome) { ended(outcome) }

    func lost() { ended(nil) }
}
