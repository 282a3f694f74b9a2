package import TransferIO
import TransferModel
package import TransferProtocol

/// One end of a connection, on one loop for life: what it says, and what it makes of the other end's silence, faults and end.
package protocol DrivenConnection: Actor {
    /// Where the session lives.
    nonisolated var loop: EventLoop { get }

    var driver: ConnectionDriver { get }

    /// Whether something waits for the socket.
    var hasUnsent: Bool { get }

    /// Closes the socket.
    func close()

    /// Whether the session reads no more.
    var isEnding: Bool { get }

    /// Whether it works on something, so that the connection is in use.
    var isWorking: Bool { get }

    /// Whether the other end owes an answer.
    var isOwedAnswer: Bool { get }

    /// Offers what waits until the socket takes no more.
    ///
    /// - Returns: whether it took any.
    func drain(into socket: StreamSocket) throws(StreamError) -> Bool

    /// What waits was offered to the socket.
    func flushed()

    /// The socket takes no more, and never will.
    func sendingFailed(_ error: StreamError)

    /// Sends a sign of life that the other end answers, where what is spoken has one.
    func sendPing()

    /// The other end broke the protocol, or has been silent or slow for too long.
    func broke(_ fault: ProtocolFault)

    /// The connection broke; a reason for people.
    func lost(_ reason: String)
}

// MARK: Time

extension DrivenConnection {
    /// A server waits for no answers.
    package var isOwedAnswer: Bool { false }

    /// To be called again whenever a deadline may have come nearer.
    package func armTimer() {
        let due = driver.liveness.deadline
        // One that comes too early looks, and is set anew: the deadline moves away with all that is said.
        if let timer = driver.timer, timer.due <= due { return }
        stopTimer()
        let timer = loop.schedule(at: due.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
        driver.timer = (timer, due)
    }

    package func stopTimer() {
        if let timer = driver.timer { loop.cancel(timer.timer) }
        driver.timer = nil
    }

    private func timerFired() {
        driver.timer = nil
        guard !driver.isOver, !isEnding else { return }
        if isWorking { driver.liveness.active(now: .now) }
        driver.liveness.expectAnswer(isOwedAnswer, now: .now)
        switch driver.liveness.expire(now: .now) {
        case .nothing: break
        case .sendPing: sendPing()
        case .giveUp(let fault): broke(fault)
        }
        armTimer()
    }
}

// MARK: Sending

extension DrivenConnection {
    /// Sends what the socket takes now.
    package func flush() {
        guard !driver.isOver, hasUnsent, let socket = driver.socket else { return }
        do throws(StreamError) {
            if try drain(into: socket) { driver.liveness.sent(now: .now) }
            flushed()
        } catch {
            sendingFailed(error)
        }
    }

    /// Sends whenever the socket takes more, without a task that waits for that: for sessions that are many and idle.
    package func flushWhenWritable() {
        driver.socket?.writable.call { [weak self] in self?.assumeIsolated { $0.flush() } }
    }

    /// Sends whenever the socket takes more, until it is closed.
    package func writeLoop() async {
        while !driver.isOver {
            await driver.socket?.writable.wait()
            flush()
        }
    }
}

// MARK: Receiving

extension DrivenConnection {
    /// Reads until the session is ending or the other end says no more, for sessions that work on what comes at once.
    ///
    /// - Parameters:
    ///   - size: bytes that are held at once; more than anything has that is only taken whole.
    ///   - take: is shown what has come, behind what it did not take before, and says how many bytes it takes.
    /// - Returns: whether the other end says no more.
    package func read(holding size: Int, _ take: (UnsafeRawBufferPointer) -> Int) async -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
        defer { buffer.deallocate() }
        var filled = 0
        while !isEnding {
            switch receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])) {
            case .wouldBlock: await driver.wake.wait()
            case .end: return true
            case .bytes(let count):
                let received = UnsafeRawBufferPointer(rebasing: buffer[..<(filled + count)])
                let consumed = take(received)
                filled = received.count - consumed
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: received[consumed...]))
                await driver.letOthers(after: count)
            }
        }
        return false
    }

    /// - Returns: nothing to receive, where the connection broke.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamSocket.Received {
        do throws(StreamError) {
            return try driver.receive(into: buffer)
        } catch {
            lost(error.reason)
            return .wouldBlock
        }
    }
}

/// What every end of a connection has, whatever it is there for and whatever is spoken on it: the socket, the times of what
/// was said and heard, and its turns. `WireConnection` and the client's sessions each have one.
///
/// Belongs to an actor on one loop. The order of calls: `open`, `receive` and `pauseReading` in any order, `linger` at most once,
/// `close`.
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

// MARK: Lingering

extension ConnectionDriver {
    /// How long the last words may take to leave.
    private static let longestLinger = Interval.seconds(2)

    /// Bytes read at once to be dropped.
    private static let scratchSize = 16 << 10

    /// Waits until the other end has taken the last words, or for two seconds. Closing a socket with unread bytes resets the
    /// connection, and a reset can overtake what was sent last; so what still comes is read and dropped until the other end
    /// closes too. The socket is to be closed afterwards.
    ///
    /// - Parameter hasUnsent: whether something waits for the socket still. `wake` is to be fired when that changes.
    package func linger(on loop: EventLoop, while hasUnsent: () -> Bool) async {
        guard !isOver else { return }
        let end = MonotonicTime.now + Self.longestLinger
        let timer = loop.schedule(at: end.nanoseconds) { [wake] in wake.fire() }
        defer { loop.cancel(timer) }
        // Not from a pool: who lingers must not take the buffers of those that upload.
        let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.scratchSize, alignment: 64)
        defer { scratch.deallocate() }
        var hasEnded = false
        while !isOver, MonotonicTime.now < end {
            if !hasUnsent(), !hasEnded {
                socket?.endSending()
                hasEnded = true
            }
            do throws(StreamError) {
                switch try socket?.discard(into: scratch) ?? .end {
                case .bytes(let count): await letOthers(after: count)
                case .end where hasEnded: return
                case .wouldBlock, .end: await wake.wait()
                }
            } catch {
                return
            }
        }
    }
}

/// When a connection gives way to the others of its loop: one that always has more to say must not keep the loop to itself.
package struct Turns: Sendable {
    /// Bytes received in one turn.
    private let length: Int
    private var received = 0

    package init(of length: Int) {
        self.length = length
    }

    /// - Returns: whether the turn is over with these bytes; then the next one begins.
    package mutating func isOver(after count: Int) -> Bool {
        received += count
        guard received >= length else { return false }
        received = 0
        return true
    }
}
