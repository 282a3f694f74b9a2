import TransferCodec
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Sending what is queued, and reporting the rate to the governor of compression.
extension ClientSession: DrivenConnection {
    var isEnding: Bool { ending != nil }

    /// Always false: no work of this session takes so long that it must count as use of the connection.
    var isWorking: Bool { false }

    /// Whether the server owes an answer, also while content waits to be sent: a server that reads none of it does not
    /// answer either. False while the client reads a source, or its caller does not take the reports.
    var isOwedAnswer: Bool { !machine.isSettled && !isFilling && !run.channel.isFull }

    func lost(_ reason: String) { end(.lost(reason)) }

    /// A fault that a retry can cure ends the connection as lost: content that was damaged on the way may arrive intact
    /// the next time.
    func broke(_ fault: ProtocolFault) { end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault)) }

    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        queue.append(control: frame)
        flush()
    }

    func sendPing() { send(.ping(0)) }

    /// True even with an empty queue, because the compression governor must learn that the queue is empty.
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

    /// Does not end the session: the server may have stated a reason before it closed the connection, and the reader
    /// finds that reason, or the end of the connection.
    func sendingFailed(_ error: StreamError) {
        hasSendFailed = true
        mayProduce.fire()
    }

    /// Continues sending at the given time.
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
