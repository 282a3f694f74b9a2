package import TransferIO
import TransferModel
package import TransferProtocol

/// One end of a connection, which stays on one loop: what it sends, and how it reacts when the other end is silent,
/// violates the protocol or ends the connection.
package protocol DrivenConnection: Actor {
    /// The loop that the session runs on.
    nonisolated var loop: EventLoop { get }

    var driver: ConnectionDriver { get }

    /// Whether bytes wait for the socket.
    var hasUnsent: Bool { get }

    /// Closes the socket of the connection.
    func close()

    /// Whether the session reads no more.
    var isEnding: Bool { get }

    /// Whether the session works on something, so that the connection is in use.
    var isWorking: Bool { get }

    /// Whether the other end owes an answer.
    var isOwedAnswer: Bool { get }

    /// Offers waiting bytes until the socket takes no more.
    ///
    /// - Returns: whether the socket took any.
    func drain(into socket: StreamSocket) throws(StreamError) -> Bool

    /// Called after waiting bytes were offered to the socket.
    func flushed()

    /// Called when sending has failed and no more bytes can be sent.
    func sendingFailed(_ error: StreamError)

    /// Sends a ping that the other end answers, if the wire has one.
    func sendPing()

    /// Called when the other end violates the protocol, or has been silent or slow for too long.
    func broke(_ fault: ProtocolFault)

    /// Called when the connection is lost; the reason is a text for users.
    func lost(_ reason: String)
}

// MARK: Time

extension DrivenConnection {
    /// The default, for servers: a client never owes them an answer.
    package var isOwedAnswer: Bool { false }

    /// Sets the timer. Call this whenever a deadline may have become earlier.
    package func armTimer() {
        let due = driver.liveness.deadline
        // An earlier timer stays: when it fires, it is set again. Setting it at each change would cost too much,
        // because the deadline moves with every byte.
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
    /// Sends as much as the socket takes now.
    package func flush() {
        guard !driver.isOver, hasUnsent, let socket = driver.socket else { return }
        do throws(StreamError) {
            if try drain(into: socket) { driver.liveness.sent(now: .now) }
            flushed()
        } catch {
            sendingFailed(error)
        }
    }

    /// Sends whenever the socket takes more, without a task that waits for it, because most sessions of a server are
    /// idle.
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
    /// Reads until the session is ending or the other end has ended, for sessions that process bytes at once.
    ///
    /// - Parameters:
    ///   - size: bytes of the buffer, which must be larger than any item that `take` takes only as a whole.
    ///   - take: receives the bytes that it has not taken yet, followed by the newly received ones, and returns how
    ///     many it takes.
    /// - Returns: whether the other end has ended.
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

    /// - Returns: the result of reading; `wouldBlock` also if the connection is lost.
    func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamSocket.Received {
        do throws(StreamError) {
            return try driver.receive(into: buffer)
        } catch {
            lost(error.reason)
            return .wouldBlock
        }
    }
}

/// What every end of a connection has, whatever its session and its wire: the socket, its timeouts, and its turns on
/// the loop. `WireConnection` and the client's sessions each have a driver.
///
/// Belongs to an actor on one loop. The order of calls: `open` first, then `receive` and `pauseReading` in any order,
/// `linger` at most once, and `close` last.
package final class ConnectionDriver {
    /// Fired when bytes have arrived, and by other code when the session has to check its state.
    package let wake: Signal
    /// Fired when the pool has no more work for the session.
    let rested = Signal()
    package private(set) var socket: StreamSocket?
    package var liveness: Liveness
    /// Whether received bytes show that the other end is alive. False while the other end has to take bytes: then only
    /// taking them shows it.
    package var hearsLife = true
    /// Whether the socket is closed, or will never exist.
    package private(set) var isOver = false
    var timer: (timer: EventLoop.Timer, due: MonotonicTime)?
    private var turns: Turns

    /// - Parameter turn: bytes after which the session lets the other sessions on the loop run; `max` if there are no
    ///   others.
    package init(_ timeouts: Liveness.Timeouts, turn: Int = .max, wake: Signal = Signal()) {
        self.wake = wake
        liveness = Liveness(timeouts, now: .now)
        turns = Turns(of: turn)
    }

    /// Takes the socket, whose signal for reading is `wake`.
    package func open(_ socket: StreamSocket) {
        self.socket = socket
    }

    /// Pauses reading. While this end does not read, the other end's silence does not count.
    package func pauseReading(_ isPaused: Bool) {
        liveness.pauseReading(isPaused, now: .now)
        socket?.pauseReading(isPaused)
    }

    /// Closes the socket. `receive` returns the end from now on.
    package func close() {
        isOver = true
        socket?.close()
    }

    package func receive(into buffer: UnsafeMutableRawBufferPointer) throws(StreamError) -> StreamSocket.Received {
        let received = try socket?.receive(into: buffer) ?? .end
        if hearsLife, case .bytes(let count) = received { liveness.received(count, now: .now) }
        return received
    }

    /// Yields from time to time: a peer that always has more to say must not keep the loop from other sessions.
    func letOthers(after count: Int) async {
        if turns.isOver(after: count) { await Task.yield() }
    }
}

// MARK: Lingering

extension ConnectionDriver {
    /// The longest time for which a connection waits for its last bytes to be taken.
    private static let longestLinger = Interval.seconds(2)

    /// Bytes that are read, and dropped, at a time.
    private static let scratchSize = 16 << 10

    /// Waits until the other end has taken the last bytes, for at most two seconds. Closing a socket with unread bytes
    /// resets the connection, and a reset can overtake the bytes that were sent last. So bytes that still arrive are
    /// read and dropped until the other end closes as well. The caller has to close the socket afterwards.
    ///
    /// - Parameter hasUnsent: whether bytes still wait for the socket. `wake` has to be fired when that changes.
    package func linger(on loop: EventLoop, while hasUnsent: () -> Bool) async {
        guard !isOver else { return }
        let end = MonotonicTime.now + Self.longestLinger
        let timer = loop.schedule(at: end.nanoseconds) { [wake] in wake.fire() }
        defer { loop.cancel(timer) }
        // The memory does not come from a pool, because a lingering connection must not take buffers from uploads.
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

/// Decides when a session lets the other sessions on the loop run: a peer that always has more to say must not keep the
/// loop busy.
package struct Turns: Sendable {
    /// Bytes that are received in one turn.
    private let length: Int
    private var received = 0

    package init(of length: Int) {
        self.length = length
    }

    /// - Returns: whether the turn ends with these bytes. The next turn then begins.
    package mutating func isOver(after count: Int) -> Bool {
        received += count
        guard received >= length else { return false }
        received = 0
        return true
    }
}
