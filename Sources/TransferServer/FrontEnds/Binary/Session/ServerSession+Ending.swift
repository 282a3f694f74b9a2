import TransferIO
import TransferModel
import TransferProtocol

/// The last words of a session.
extension ServerSession {
    /// How long the last words may take to leave.
    static let lingering = Interval.seconds(2)

    /// Bytes read at once to be dropped.
    static let scratchSize = 16 << 10

    func sayGoodbye() {
        switch ending {
        case .fault(let fault):
            observability.log.write([.refused(peer: peer, fault)])
            send(.result(UploadResult(fault)))
        case .refused(let refusal):
            observability.log.write([.notAdmitted(peer: peer, refusal)])
            send(.result(UploadResult(refusal)))
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            // What was begun and has no result, has this one.
            send(machine.isSettled ? .goodbye(Goodbye(.shuttingDown, "The server is stopping.")) : .result(.stopping))
        case .insecure(let reason): observability.log.write([.insecure(peer: peer, reason: reason)])
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}

extension ProtocolFault {
    static let tooManyConnections = ProtocolFault(.busy, "There are too many connections from this address.")

    static let tooManyHandshakes = ProtocolFault(.busy, "Too many connections have not introduced themselves yet.")
}

extension UploadResult {
    /// About a connection on which something was still open.
    fileprivate static let stopping = UploadResult(id: .none, code: .shuttingDown, message: "The server is stopping.")
}
