package import TransferIO
package import TransferModel
package import TransferProtocol

/// How one end of a connection reacts to what the other end says. It belongs to one `WireConnection`, which calls it on
/// its loop. It contains the wire (a value without I/O) and the link to the rest of the program.
///
/// The order of calls: `run` first, which calls `WireConnection.readLoop`. While that reads, `step` is called for each
/// step in the received bytes, `parsed` after the last one, `work` whenever batches wait for the pool, and `rested`
/// when the pool has finished all of them. `WireConnection.end` may be called at any time. Then `readLoop` returns, and
/// `run` waits for the work to finish and closes.
package protocol WireSession: AnyObject, SendableMetatype {
    associatedtype Batch: PipedBatch

    /// Memory that contains answers; `Never` if the session sends only messages.
    associatedtype Chunk: OutboundChunk

    /// The reason why the session no longer reads.
    associatedtype Ending: Sendable

    /// The result of `run`: what remains of the session at its end.
    associatedtype Remainder: Sendable

    typealias Connection = WireConnection<Self>

    /// Runs until the connection ends, or its other end has become idle.
    func run(on connection: isolated Connection) async -> Remainder

    // MARK: Reading

    /// The pool of buffers for received bytes.
    var buffers: BufferPool { get }

    /// The account that pays for the buffers, if several clients share them.
    var bufferAccount: BufferAccount? { get }

    /// Whether content may come next. If so, the connection receives into a buffer of the pool; if not, into a small
    /// buffer outside the pool, because a client that sends only requests may leave the answers unread for any time,
    /// and would keep the pool's buffers from others.
    var expectsContent: Bool { get }

    /// The most bytes that are received at once.
    var mostReceived: Int { get }

    /// Whether there is room for the answers to more requests.
    func takesAnswers(on connection: isolated Connection) -> Bool

    /// Called when bytes were received.
    func received(_ count: Int)

    /// Parses the next step. The batch may have no unparsed bytes, because bytes that were parsed before can be several
    /// steps.
    func step(_ batch: Batch, on connection: isolated Connection) throws(ProtocolFault) -> FoundStep

    /// Called when all received bytes are parsed, or as many as can be parsed now.
    func parsed(on connection: isolated Connection)

    /// The cost of parsing since the last call, as the number of bytes that usually cost as much: a few received bytes
    /// can be more work than many.
    func takeParsingCost() -> Int

    /// Whether something has to be decided before the next step is parsed.
    var isUndecided: Bool { get }

    /// Makes the decision that `isUndecided` announces.
    func decide(on connection: isolated Connection) async

    /// Whether the session should end because the other end has been idle for long. Called when no bytes wait to be
    /// received.
    func mayRest(on connection: isolated Connection) -> Bool

    /// Called when the other end has ended its side.
    func peerEnded(on connection: isolated Connection)

    // MARK: Working

    /// Lets the pool work once on the batches that it can take from the pipe.
    func work(on connection: isolated Connection) async

    /// Whether the work waits until the other end has taken what was sent to it. Such work does not count as activity,
    /// so that a silent end is still disconnected.
    var isAwaitingPeer: Bool { get }

    /// Called when the pool has no more work.
    func rested(on connection: isolated Connection)

    // MARK: Time and ending

    /// Whether the other end owes an answer.
    func isOwedAnswer(on connection: isolated Connection) -> Bool

    /// Sends a ping that the other end answers, if the wire has one.
    func sendPing(on connection: isolated Connection)

    /// Called after waiting bytes were offered to the socket.
    func flushed(on connection: isolated Connection)

    /// Called when sending has failed and no more bytes can be sent.
    func sendingFailed(_ error: StreamError, on connection: isolated Connection)

    /// Called when the other end violates the protocol, or has been silent or slow for too long.
    func broke(_ fault: ProtocolFault, on connection: isolated Connection)

    /// Called when the connection is lost; the reason is a text for users.
    func lost(_ reason: String, on connection: isolated Connection)

    /// Called when the connection gets its ending, so that the session wakes tasks that wait.
    func ended(for reason: Ending, on connection: isolated Connection)

    /// Reports the bytes that wait for the socket, for accounting; 0 when the socket is closed.
    func holds(unsent count: Int)

    /// Called when no new work may begin, and the connection has to end when all work is done.
    func draining(on connection: isolated Connection)
}

extension WireSession {
    package func takeParsingCost() -> Int { 0 }

    package func mayRest(on connection: isolated Connection) -> Bool { false }

    package var isAwaitingPeer: Bool { false }
}

/// One end of a connection, which stays on one loop and whose work is done on a pool. It has the socket with its
/// timeouts (`driver`), the received bytes on their way to the pool (`pipe`), the bytes that wait to be sent
/// (`outbound`), and the session, which has the wire. If the pool is behind, the connection stops reading, and other
/// connections do not.
///
/// ```
///   socket ──► pipe.filling ──session.step──► batch ──► session.work ──► pool
///      ▲                                                                  │
///      └───────── outbound ◄──────────── send ◄──────── results ──────────┘
///
///   reading ──end──► ending ──finishWork, linger──► closed
///      └──drain──► draining ──all is done──► ending
/// ```
///
/// The order of calls: `run` once; other code may call `drain` and `end` at any time. Socket, timer and writing are
/// those of `DrivenConnection`. Only the session calls the other functions.
package actor WireConnection<Session: WireSession> {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    package let driver: ConnectionDriver
    package let session: Session

    /// What was received, on its way to the pool.
    package var pipe: BatchPipe<Session.Batch>

    /// Bytes that wait for the socket.
    package var outbound = Outbound<Session.Chunk>()

    /// Why the connection is no longer read; nil while it is.
    package var ending: Session.Ending? { didSet { isEnding = ending != nil } }

    package private(set) var isEnding: Bool

    /// Whether no new work may begin, and the connection ends when all work is done.
    package private(set) var isDraining = false

    /// - Parameters:
    ///   - received: the bytes that were received before the connection had a session.
    ///   - ending: the reason why the connection is not served, if it is known already.
    package init(
        _ driver: sending ConnectionDriver, on loop: EventLoop, received: [UInt8] = [], ending: Session.Ending? = nil,
        _ session: sending Session
    ) {
        (self.driver, self.loop, self.session) = (driver, loop, session)
        pipe = BatchPipe(received: received)
        (self.ending, isEnding) = (ending, ending != nil)
    }

    /// Runs the session; see `WireSession.run`.
    package func run() async -> Session.Remainder { await session.run(on: self) }

    /// Lets the work that has begun finish, and takes no new work.
    package func drain() {
        isDraining = true
        session.draining(on: self)
    }

    package func end(_ reason: Session.Ending) {
        guard ending == nil else { return }
        ending = reason
        session.ended(for: reason, on: self)
        driver.wake.fire()
    }

    /// Runs a job on the loop, in a separate task. The task retains the connection until the job is done.
    @discardableResult
    package nonisolated func start(_ job: @escaping @Sendable (isolated WireConnection) async -> Void) -> Task<
        Void, Never
    > {
        Task(executorPreference: loop) { await job(self) }
    }

    /// Calls `action` on the loop at that time, unless the connection has been released by then.
    package func schedule(
        at time: MonotonicTime, _ action: @escaping @Sendable (isolated WireConnection) -> Void
    ) -> EventLoop.Timer {
        loop.schedule(at: time.nanoseconds) { [weak self] in self?.assumeIsolated { action($0) } }
    }
}

// MARK: Reading

/// Bytes of a buffer outside the pool, for a client that sends only requests: more than the longest frame without
/// content.
private let ownMemory = 32 << 10

extension WireConnection {
    /// Reads until the session is ending, or its other end has become idle.
    package func readLoop() async {
        reading: while !isEnding {
            guard !session.isUndecided else {
                setAside()
                await session.decide(on: self)
                continue
            }
            switch reading {
            case .wait:
                // A connection that isn't read must not keep a buffer.
                handOver()
                if pipe.isBehind { setAside() }
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
                case 0 where session.mayRest(on: self): break reading
                case 0: await driver.wake.wait()
                case let count: await driver.letOthers(after: count)
                }
            }
        }
        // Lingering reads until the other end closes, so reading must not be paused.
        driver.pauseReading(false)
    }

    /// When a client is read again, its silence counts again, and the deadline may be earlier than the timer.
    private func pauseReading(_ isPaused: Bool) {
        driver.pauseReading(isPaused)
        if !isPaused { armTimer() }
    }

    private var reading: BatchPipe<Session.Batch>.Reading {
        let account = session.bufferAccount
        return pipe.reading(
            isScarce: !session.expectsContent || (account.map { session.buffers.isScarce(for: $0) } ?? false),
            takesAnswers: session.takesAnswers(on: self))
    }

    /// Takes a buffer for the next batch. While all buffers of the pool are in use, the connection is not read.
    private func takeBuffer() async -> BlockBuffer {
        let (buffers, account) = (session.buffers, session.bufferAccount)
        guard session.expectsContent, pipe.carried <= buffers.size else {
            return BlockBuffer(ownOf: max(ownMemory, pipe.carried + ownMemory / 2))
        }
        if let buffer = buffers.takeNow(for: account) { return buffer }
        pauseReading(true)
        defer { pauseReading(false) }
        return await buffers.take(for: account)
    }

    /// Receives once. This is not a part of the loop, because variables of the loop would hold the buffer while it
    /// waits.
    ///
    /// - Returns: how many bytes were received; 0 if there is nothing to receive now.
    private func pump() -> Int {
        guard let steps = pipe.filling else { return 0 }
        let free = steps.input.free
        switch receive(into: UnsafeMutableRawBufferPointer(rebasing: free[..<min(free.count, session.mostReceived)])) {
        case .wouldBlock:
            handOver()
            return 0
        case .bytes(let count):
            session.received(count)
            steps.received(count)
            parse(steps)
            handOver()
            return max(count, session.takeParsingCost())
        case .end:
            session.peerEnded(on: self)
            // The other end may have ended its side and still wait for answers, so the steps that wait here go to the
            // pool as usual.
            handOver()
            return 0
        }
    }

    /// Parses bytes that were received together with an earlier batch, which already has all its steps.
    ///
    /// - Returns: how many bytes were parsed, but at least 1: more bytes may wait in the socket, and no other event
    ///   would wake the loop.
    private func catchUp() -> Int {
        guard let steps = pipe.filling else { return 1 }
        let before = steps.input.parsed
        parse(steps)
        handOver()
        return max(1, steps.input.parsed - before, session.takeParsingCost())
    }

    private func parse(_ steps: Session.Batch) {
        var found = FoundStep.step
        do throws(ProtocolFault) {
            while found == .step, !steps.isComplete, !isEnding { found = try session.step(steps, on: self) }
        } catch {
            broke(error)
        }
        let isAll = found == .needsMore || found == .lastStep && steps.unparsed.isEmpty
        pipe.parsed(isAll && !session.isUndecided ? .everything : .untilFull)
        session.parsed(on: self)
    }
}

/// The result of parsing one step.
package enum FoundStep: Sendable {
    /// More bytes are needed for the next step.
    case needsMore
    case step
    /// No further step may be parsed for now.
    case lastStep
}

// MARK: Working

extension WireConnection {
    package var isWorking: Bool { pipe.isWorking && !session.isAwaitingPeer }

    /// Hands over the complete steps, and waits until the pool has done all of them.
    package func finishWork() async {
        if pipe.finish() { startWork() }
        while pipe.isWorking { await driver.rested.wait() }
    }

    /// Lets the pool continue with what it has left, if it is idle.
    package func resumeWork() {
        if pipe.resume() { startWork() }
    }

    private func handOver() {
        if pipe.handOver() { startWork() }
    }

    private func setAside() {
        if pipe.setAside() { startWork() }
    }

    private func startWork() {
        Task(executorPreference: loop) { await self.workLoop() }
    }

    private func workLoop() async {
        while pipe.hasWork {
            await session.work(on: self)
            // After the last work, `wake` is fired below. It is not fired twice, because the reading loop looks at the
            // socket each time.
            if pipe.hasWork { driver.wake.fire() }
        }
        pipe.rest()
        session.rested(on: self)
        driver.rested.fire()
        driver.wake.fire()
    }
}

// MARK: Sending

extension WireConnection {
    /// Sends as many bytes as the socket takes now, and the rest later.
    package func send(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, !driver.isOver else { return }
        outbound.append(bytes)
        flush()
    }
}

extension WireConnection: DrivenConnection {
    package var hasUnsent: Bool { !outbound.isEmpty }

    package var isOwedAnswer: Bool { session.isOwedAnswer(on: self) }

    package func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let before = outbound.count
        defer { session.holds(unsent: outbound.count) }
        try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
        return outbound.count < before
    }

    package func flushed() {
        session.flushed(on: self)
        // Reading may be waiting for room for answers, and lingering until all bytes are sent.
        if driver.socket?.isReadingPaused == true || isEnding, session.takesAnswers(on: self) { driver.wake.fire() }
    }

    package func sendingFailed(_ error: StreamError) { session.sendingFailed(error, on: self) }

    package func sendPing() { session.sendPing(on: self) }

    package func broke(_ fault: ProtocolFault) { session.broke(fault, on: self) }

    package func lost(_ reason: String) { session.lost(reason, on: self) }

    package func close() {
        driver.close()
        session.holds(unsent: 0)
    }

    /// Sends nothing more, waits until the other end has taken the last bytes, and closes.
    package func linger() async {
        await driver.linger(on: loop) { hasUnsent }
        close()
    }
}

/// One receive buffer on its way to the pool, with the steps that were found in it, in order.
package protocol PipedBatch: AnyObject, Sendable {
    /// The buffer, and how far it was parsed.
    var input: ReceiveBuffer { get set }

    /// Received bytes that were not parsed yet.
    var unparsed: UnsafeRawBufferPointer { get }

    func received(_ count: Int)

    func consumed(_ count: Int)

    /// Whether no steps were found for the pool.
    var isEmpty: Bool { get }

    /// Whether no more steps may be added. The buffer may still contain whole frames.
    var isComplete: Bool { get }

    /// - Parameter carry: bytes that were received before; they are the first in the buffer.
    init(_ buffer: BlockBuffer, carry: [UInt8])

    /// Continues in the buffer of a batch that has all its steps. The two batches read and write different bytes of the
    /// buffer.
    init(after steps: Self)
}

extension PipedBatch {
    package var unparsed: UnsafeRawBufferPointer { input.unparsed }

    package func received(_ count: Int) { input.received(count) }

    package func consumed(_ count: Int) { input.consumed(count) }
}
