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
        roomForAnswers.fire()
        endIfDrained()
    }
}
