import TransferCodec
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What waits for the socket, and what the governor of compression learns from sending it.
extension ClientSession: DrivenConnection {
    var isEnding: Bool { ending != nil }

    /// Nothing of it takes so long that the server could say nothing of it.
    var isWorking: Bool { false }

    /// True also while content waits to be sent: a server that reads none of it does not answer either. False while this side
    /// waits: it reads a source, or its caller does not take the reports.
    var isOwedAnswer: Bool { !machine.isSettled && !isFilling && !run.channel.isFull }

    func lost(_ reason: String) { end(.lost(reason)) }

    /// What was damaged on its way may arrive whole the next time.
    func broke(_ fault: ProtocolFault) { end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault)) }

    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        queue.append(control: frame)
        flush()
    }

    func sendPing() { send(.ping(0)) }

    /// The governor also learns from there being nothing.
    var hasUnsent: Bool { !hasSendFailed }

    func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let sent = try queue.drain(into: socket, run.bandwidth)
        observe(sent)
        if !sent.content.isEmpty { driver.liveness.answered(now: .now) }
        run.configuration.traffic?.add(sent.travelled)
        if let time = sent.resumesAt { flush(at: time) }
        return sent.hasSent
    }

    func flushed() {
        mayProduce.fire()
    }

    /// The server may have said why before it closed; the reader will find that, or the end.
    func sendingFailed(_ error: StreamError) {
        hasSendFailed = true
        mayProduce.fire()
    }

    /// Goes on when it is time for more bytes.
    private func flush(at time: MonotonicTime) {
        guard !isWaitingForTime else { return }
        isWaitingForTime = true
        _ = run.loop.schedule(at: time.nanoseconds) { [weak self] in
            self?.assumeIsolated { session in
                session.isWaitingForTime = false
                session.flush()
            }
        }
    }

    func observe(_ sent: SendQueue.Sent) {
        let (now, epoch) = (MonotonicTime.now, governor.epoch)
        for (bytes, epoch) in sent.content { governor.sent(content: bytes, epoch: epoch, now: now) }
        if sent.isBlocked { governor.blocked(now: now) } else { governor.starved() }
        if governor.epoch != epoch { compressWaiting() }
    }
}
