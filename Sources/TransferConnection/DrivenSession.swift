package import TransferIO
import TransferModel
package import TransferProtocol

/// One end of a connection, on one loop for life: what it says, and what it makes of the other end's silence, faults and end.
package protocol DrivenSession: LingeringSession {
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

extension DrivenSession {
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

extension DrivenSession {
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

extension DrivenSession {
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
