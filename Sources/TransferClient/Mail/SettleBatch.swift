import TransferModel

/// Deliveries that are reported to the server together, until it has answered.
struct SettleBatch: Sendable {
    var settlement: Settlement

    /// The deliveries of the settlement that are durable here, in its order; empty if the deliveries are declined.
    let arrivals: [Arrival]

    /// The name of the note on disk that records the arrivals; nil if older notes record them.
    var note: String?

    /// How often the server has asked to report them later.
    var attempts = 0

    /// Divides the batch, for when the server does not accept it as a whole.
    func halves(_ signer: DeliverySigner?) -> [SettleBatch] {
        let middle = settlement.deliveries.count / 2
        return [0..<middle, middle..<settlement.deliveries.count].map { range in
            SettleBatch(
                settlement: arrivals.isEmpty
                    ? Settlement(declined: Array(settlement.deliveries[range]))
                    : Settlement(delivered: arrivals[range].map(\.verified), signer),
                arrivals: arrivals.isEmpty ? [] : Array(arrivals[range]))
        }
    }
}
