import TransferCodec
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// What leaves a session beside the answers that the pool has made.
extension BinarySession: ServedSession {
    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        send(frame)
    }

    func answersTaken() {
        observe()
        roomForAnswers.fire()
        endIfDrained()
    }

    /// Tells the governor what has left, and whether the client's link is what holds up the rest.
    private func observe() {
        let now = MonotonicTime.now
        for (content, epoch) in answers.left(upTo: outbound.appended - outbound.count) {
            governor.sent(content: content, epoch: epoch, now: now)
        }
        if outbound.isEmpty { governor.starved() } else { governor.blocked(now: now) }
    }
}
