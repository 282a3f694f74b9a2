import TransferModel

/// Deliveries that the server is told about together, until it has answered.
struct SettleBatch: Sendable {
    var settlement: Settlement

    /// Those of the deliveries that are durable here, in the same order; none of what is declined.
    let arrivals: [Arrival]

    /// The note that says so; nothing where older ones do.
    var note: String?

    /// How often the server has said that it may be told later.
    var attempts = 0

    /// The same in two parts, when the server will not have it as a whole.
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
