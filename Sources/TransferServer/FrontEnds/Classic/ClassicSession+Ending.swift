import TransferAccess
import TransferClassic
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// The last words of a session.
extension ClassicSession {
    /// Stores what was received whole, says the last words, and closes.
    func finish() async {
        await finishWork()
        await endHandingOn()
        answer(await transport.pool.run(for: account) { [worker] in worker.cancel() })
        stopTimer()
        sayGoodbye()
        await linger()
        close()
    }

    /// Says why there is no more: about what the client did wrong, or else as the answer to each upload that has none.
    private func giveUp(_ fault: ProtocolFault) {
        // It would be taken for a part of the message.
        guard chat?.isInMessage != true else { return }
        let rest = self.fault == nil ? answers.takeRest() : []
        guard !rest.isEmpty else {
            return send(conversation.answer(to: self.fault ?? ClassicFault(fault.code, fault.message)))
        }
        let result = ClassicResult(fault.code, message: fault.message)
        send(rest.flatMap { conversation.answer(to: $0, result) })
    }

    private func sayGoodbye() {
        switch ending {
        case .fault(let fault):
            observability.log.write([.refused(peer: peer, fault)])
            giveUp(fault)
        case .refused(let refusal):
            observability.log.write([.notAdmitted(peer: peer, refusal)])
            giveUp(ProtocolFault(refusal.code, refusal.message))
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            if isOwing { giveUp(ProtocolFault(.shuttingDown, "The server is stopping.")) }
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}
