package import TransferIO
import TransferModel
package import TransferProtocol

/// A session whose work is done on a pool: what it receives goes there a buffer full at a time, and while the pool is behind,
/// this connection alone is not read.
package protocol PipedSession: DrivenSession {
    associatedtype Steps: ReceivedSteps

    var pipe: BatchPipe<Steps> { get set }

    /// Where what is received goes.
    var buffers: BufferPool { get }

    /// Who pays for the buffers, where several do.
    var bufferAccount: BufferAccount? { get }

    /// Whether there is room for what comes of more.
    var takesAnswers: Bool { get }

    /// Whether content may come next, which is worth a buffer of the pool. Who only asks gets little memory of its own: it may leave
    /// the answers unread for as long as it likes, and would keep others from being read.
    var expectsContent: Bool { get }

    /// Bytes that are received at once at most.
    var mostReceived: Int { get }

    /// Bytes have come.
    func received(_ count: Int)

    /// Whether something has to be decided before the next frame is looked at.
    var isUndecided: Bool { get }

    /// Decides about that.
    func decide() async

    /// Takes the next step from what is unparsed. There may be none of it: what came before can be several steps.
    func step(_ steps: Steps) throws(ProtocolFault) -> FoundStep

    /// All that was received is parsed, as far as that goes now.
    func parsed()

    /// Whether the session is to end, because the other end has said nothing for long. Asked when there is nothing to receive:
    /// whatever comes after that wakes whoever waits for the socket next.
    func mayRest() -> Bool

    /// What parsing since the last call has cost, in bytes that would have cost as much: a few that were received can be more
    /// work than many.
    func takeParsingCost() -> Int

    /// The other end says no more.
    func ended()

    /// Has the pool work on what it can take from the pipe, once.
    func work() async

    /// The pool has nothing more to do.
    func rested()
}

// MARK: Reading

/// Bytes of memory for what comes of a client that only asks: the longest frame without content, and some more.
private let ownMemory = 32 << 10

extension PipedSession {
    package var expectsContent: Bool { true }

    package func takeParsingCost() -> Int { 0 }

    package func received(_ count: Int) {}

    package func mayRest() -> Bool { false }

    /// Reads until the session is ending, or rests.
    package func readLoop() async {
        reading: while !isEnding {
            guard !isUndecided else {
                pipe.setAside()
                await decide()
                continue
            }
            switch reading {
            case .wait:
                // Whoever isn't read must not keep a buffer.
                handOver()
                if pipe.isBehind { pipe.setAside() }
                pauseReading(true)
                await driver.wake.wait()
            case .takeBuffer:
                pauseReading(false)
                pipe.begin(in: await takeBuffer())
            case .parse:
                pauseReading(false)
                await driver.letOthers(after: catchUp())
            case .receive:
                pauseReading(false)
                switch pump() {
                case 0 where mayRest(): break reading
                case 0: await driver.wake.wait()
                case let count: await driver.letOthers(after: count)
                }
            }
        }
        // Whoever lingers waits for the end of what comes.
        driver.pauseReading(false)
    }

    /// Whoever is read again can be given up for its silence again, which may be sooner than the timer is due.
    private func pauseReading(_ isPaused: Bool) {
        driver.pauseReading(isPaused)
        if !isPaused { armTimer() }
    }

    private var reading: BatchPipe<Steps>.Reading {
        pipe.reading(
            isScarce: !expectsContent || (bufferAccount.map { buffers.isScarce(for: $0) } ?? false),
            takesAnswers: takesAnswers)
    }

    /// While the buffers are all in use, this side doesn't read.
    private func takeBuffer() async -> BlockBuffer {
        guard expectsContent, pipe.carried <= buffers.size else {
            return BlockBuffer(ownOf: max(ownMemory, pipe.carried + ownMemory / 2))
        }
        if let buffer = buffers.takeNow(for: bufferAccount) { return buffer }
        pauseReading(true)
        defer { pauseReading(false) }
        return await buffers.take(for: bufferAccount)
    }

    /// Receives once. Not part of the loop, whose variables would hold the buffer while it waits.
    ///
    /// - Returns: how many bytes came; 0 when there is nothing to receive now.
    private func pump() -> Int {
        guard let steps = pipe.filling else { return 0 }
        let free = steps.input.free
        switch receive(into: UnsafeMutableRawBufferPointer(rebasing: free[..<min(free.count, mostReceived)])) {
        case .wouldBlock:
            handOver()
            return 0
        case .bytes(let count):
            received(count)
            steps.received(count)
            parse(steps)
            handOver()
            return max(count, takeParsingCost())
        case .end:
            ended()
            // Where the other end says no more and waits for answers, what waits here goes to the pool as at any other time.
            handOver()
            return 0
        }
    }

    /// Parses what came with a batch that had all its steps.
    ///
    /// - Returns: how many bytes that took, or 1: there may be more to receive, and nothing else to wake this up.
    private func catchUp() -> Int {
        guard let steps = pipe.filling else { return 1 }
        let before = steps.input.parsed
        parse(steps)
        handOver()
        return max(1, steps.input.parsed - before, takeParsingCost())
    }

    private func parse(_ steps: Steps) {
        var found = FoundStep.step
        do throws(ProtocolFault) {
            while found == .step, !steps.isComplete { found = try step(steps) }
        } catch {
            broke(error)
        }
        let isAll = found == .needsMore || found == .lastStep && steps.unparsed.isEmpty
        pipe.parsed(isAll && !isUndecided ? .everything : .untilFull)
        parsed()
    }

}

/// What one step of parsing came to.
package enum FoundStep: Sendable {
    /// More bytes are needed for the next one.
    case needsMore
    case step
    /// No other one may be looked at now.
    case lastStep
}

// MARK: Working

extension PipedSession {
    package var isWorking: Bool { pipe.isWorking }

    /// Hands over what was received whole, and waits until the pool has done with all of it.
    package func finishWork() async {
        if pipe.finish() { startWork() }
        while pipe.isWorking { await driver.rested.wait() }
    }

    /// Lets the pool go on with what it has left, where it has nothing to do now.
    package func resumeWork() {
        if pipe.resume() { startWork() }
    }

    private func handOver() {
        if pipe.handOver() { startWork() }
    }

    private func startWork() {
        Task(executorPreference: loop) { await self.workLoop() }
    }

    private func workLoop() async {
        while pipe.hasWork {
            await work()
            // Behind the last of it that is said below: each word is a look at the socket.
            if pipe.hasWork { driver.wake.fire() }
        }
        pipe.rest()
        rested()
        driver.rested.fire()
        driver.wake.fire()
    }
}

/// A session in which frames are spoken, as docs/PROTOCOL.md has them.
package protocol FrameSession: DrivenSession {
    var parser: FrameParser { get set }

    func send(_ message: Message)
}

extension FrameSession {
    package func sendPing() { send(.ping(0)) }
}

/// A session in which frames are spoken and whose work is done on a pool.
package protocol PipedFrameSession: FrameSession, PipedSession {
    /// - Returns: whether the next frame may be looked at: the session is not ending, and nothing is undecided.
    func take(_ message: Message, _ steps: Steps) throws(ProtocolFault) -> Bool

    /// - Parameter piece: its range counts from the first unparsed byte.
    func take(_ piece: DataPiece, _ steps: Steps) throws(ProtocolFault)
}

extension PipedFrameSession {
    package func step(_ steps: Steps) throws(ProtocolFault) -> FoundStep {
        let bytes = steps.unparsed
        guard !bytes.isEmpty else { return .needsMore }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return .needsMore
        case .message(let message, let consumed):
            steps.consumed(consumed)
            return try take(message, steps) ? .step : .lastStep
        case .data(let piece, let consumed):
            try take(piece, steps)
            steps.consumed(consumed)
            return .step
        }
    }
}

/// A session to which only messages come, which it works on at once.
package protocol MessageSession: FrameSession {
    /// Bytes that are received at once; more than any message has.
    static var receiveSize: Int { get }

    /// Called around the messages of one buffer.
    func gather(_ body: () -> Int) -> Int

    func take(_ message: Message) throws(ProtocolFault)

    /// The other end says no more.
    func ended()
}

extension MessageSession {
    /// Reads until the session is ending.
    package func readLoop() async {
        let hasEnded = await read(holding: Self.receiveSize) { bytes in gather { parse(bytes.bytes) } }
        if hasEnded { ended() }
    }

    /// - Returns: how many bytes were taken.
    private func parse(_ bytes: RawSpan) -> Int {
        var consumed = 0
        do throws(ProtocolFault) {
            while !isEnding {
                switch try parser.next(bytes.extracting(consumed..<bytes.byteCount)) {
                case .needsMore: return consumed
                case .message(let message, let count):
                    consumed += count
                    try take(message)
                case .data: throw ProtocolFault(.unexpectedFrame, "The server sent data.")
                }
            }
        } catch {
            broke(error)
        }
        return consumed
    }
}

/// One receive buffer on its way to the pool, with what was found in it, in order.
package protocol ReceivedSteps: AnyObject, Sendable {
    /// The buffer, and how far it was parsed.
    var input: ReceiveBuffer { get set }

    /// Received bytes that were not parsed yet.
    var unparsed: UnsafeRawBufferPointer { get }

    func received(_ count: Int)

    func consumed(_ count: Int)

    /// Whether nothing was found that is to be worked on.
    var isEmpty: Bool { get }

    /// Whether no more steps may be added. There may be whole frames left in the buffer.
    var isComplete: Bool { get }

    /// - Parameter carry: what is received already, and belongs in front.
    init(_ buffer: BlockBuffer, carry: [UInt8])

    /// Goes on in the buffer of one that has all its steps. The two read and write different bytes of it.
    init(after steps: Self)
}

extension ReceivedSteps {
    package var unparsed: UnsafeRawBufferPointer { input.unparsed }

    package func received(_ count: Int) { input.received(count) }

    package func consumed(_ count: Int) { input.consumed(count) }
}
