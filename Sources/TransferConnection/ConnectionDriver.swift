package import TransferIO
import TransferModel
package import TransferProtocol

/// What every end of a connection has, whatever it is there for and whatever is spoken on it: the socket, the times of what
/// was said and heard, and its turns. What is done with it is written once, in `DrivenSession` and `PipedSession`.
///
/// Belongs to a session, and like it to one loop.
package final class ConnectionDriver {
    /// Fired when something has come, and by whoever else wants the session to look.
    package let wake: Signal
    /// Fired when the pool has nothing more to do for the session.
    let rested = Signal()
    package private(set) var socket: StreamSocket?
    package var liveness: Liveness
    /// Whether what comes is a sign of life. Where the other end is to take something, it may be that nothing else is one.
    package var hearsLife = true
    /// Whether the socket is closed, or will never be there.
    package private(set) var isOver = false
    var timer: (timer: EventLoop.Timer, due: MonotonicTime)?
    private var turns: Turns

    /// - Parameter turn: bytes after which the session gives way to others of its loop; without end where it shares the loop
    ///   with nobody whom that would matter to.
    package init(_ timeouts: Liveness.Timeouts, turn: Int = .max, wake: Signal = Signal()) {
        self.wake = wake
        liveness = Liveness(timeouts, now: .now)
        turns = Turns(of: turn)
    }

    /// Takes the socket, whose signal for reading is `wake`.
    package func open(_ socket: StreamSocket) {
        self.socket = socket
    }

    /// While nobody reads, the peer cannot be blamed for silence.
    package func pauseReading(_ isPaused: Bool) {
        liveness.pauseReading(isPaused, now: .now)
        socket?.pauseReading(isPaused)
    }

    /// What is received after that is the end.
    package func close() {
        isOver = true
        socket?.close()
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> StreamSocket.Received {
        let received = try socket?.receive(into: buffer) ?? .end
        if hearsLife, case .bytes(let count) = received { liveness.received(count, now: .now) }
        return received
    }

    /// Gives way from time to time: a peer that always has more to say must not keep the loop from the others.
    func letOthers(after count: Int) async {
        if turns.isOver(after: count) { await Task.yield() }
    }
}
