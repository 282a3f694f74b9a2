import TransferModel

/// The unanswered requests of one connection, on the server.
struct OpenRequests: Equatable, Sendable {
    private var costs: [UInt32: Int] = [:]
    private var bytes = 0

    var isEmpty: Bool { costs.isEmpty }

    func contains(_ id: UInt32) -> Bool { costs[id] != nil }

    /// - Throws: `unexpectedFrame` if there are too many requests, or a request with this ID is still unanswered.
    mutating func add(_ request: Request) throws(ProtocolFault) {
        guard costs.count < Limits.requests, bytes + request.cost <= Limits.requestBytes else {
            throw ProtocolFault(
                .unexpectedFrame,
                "More than \(Limits.requests) requests, or \(Limits.requestBytes) bytes of them, have no answer.")
        }
        guard costs.updateValue(request.cost, forKey: request.id) == nil else {
            throw ProtocolFault(.unexpectedFrame, "Request \(request.id) was made again before its answer.")
        }
        bytes += request.cost
    }

    mutating func answered(_ id: UInt32) {
        // The request may already have been answered.
        if let cost = costs.removeValue(forKey: id) { bytes -= cost }
    }
}
