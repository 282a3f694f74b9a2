import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// What waits for the socket, and what the governor of compression learns from sending it.
extension ClientSession {
    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        queue.append(control: frame)
        flush()
    }

    func flush() {
        guard !isOver, let socket else { return }
        do throws(StreamError) {
            let sent = try queue.drain(into: socket, run.bandwidth)
            if sent.hasSent { liveness.sent(now: .now) }
            observe(sent)
            if let time = sent.resumesAt { flush(at: time) }
        } catch {
            // The server may have said why before it closed; the reader will find that, or the end.
            hasSendFailed = true
        }
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
        let now = MonotonicTime.now
        for (bytes, epoch) in sent.content { governor.sent(content: bytes, epoch: epoch, now: now) }
        if sent.isBlocked { governor.blocked(now: now) } else { governor.starved() }
    }

    func writeLoop() async {
        while !isOver {
            await socket?.writable.wait()
            if !hasSendFailed { flush() }
        }
    }
}
