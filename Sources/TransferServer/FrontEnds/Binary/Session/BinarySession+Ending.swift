import TransferModel
import TransferProtocol

/// The last words of a session.
extension BinarySession {
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
            let goodbye = Goodbye(.shuttingDown, "The server is stopping.")
            send(conversation.isSettled ? .goodbye(goodbye) : .result(.stopping))
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}

extension UploadResult {
    /// About a connection on which something was still open.
    fileprivate static let stopping = UploadResult(id: .none, code: .shuttingDown, message: "The server is stopping.")
}
