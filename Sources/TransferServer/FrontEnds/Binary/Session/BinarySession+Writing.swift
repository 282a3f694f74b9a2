import Synchronization
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// What leaves a session: results, answers and signs of life, as fast as the client takes them.
extension BinarySession {
    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        send(frame)
    }

    func send(_ frames: [UInt8]) {
        guard !frames.isEmpty, !driver.isOver else { return }
        outbound.append(frames)
        flush()
    }

    /// Tells how much waits here.
    func countUnsent() {
        let count = driver.isOver ? 0 : outbound.count
        transport.unsent.wrappingAdd(count - counted, ordering: .relaxed)
        counted = count
    }

    var hasUnsent: Bool { !outbound.isEmpty }

    func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let before = outbound.count
        defer { countUnsent() }
        try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
        return outbound.count < before
    }

    func flushed() {
        roomForAnswers.fire()
        endIfDrained()
        // Whoever doesn't read because of what waits here, or lingers until nothing does.
        if driver.socket?.isReadingPaused == true || isEnding, takesAnswers { driver.wake.fire() }
    }

    func sendingFailed(_ error: StreamError) {
        end(.lost(error.reason))
        close()
    }
}
