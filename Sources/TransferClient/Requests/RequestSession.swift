import Glibc
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// One connection that sends its source's requests, as many as the server takes at once, and hands the answers to the
/// pool, one buffer at a time. While the pool is behind, the session does not read. It lives on one of the client's
/// loops.
///
/// ```
///   connect ──► greet ──► ask ◄──► answers ──► all asked and answered, or lost
/// ```
final class RequestSession: WireSession {
    typealias Batch = ReceivedBatch
    typealias Chunk = Never
    typealias Ending = ClientSession.Ending

    /// The address to connect to, and what is known of the server.
    struct Target: Sendable {
        let address: SocketAddress

        /// Time that connecting and the handshake may take together; nil for the configured timeouts.
        var limit: Interval?

        /// Whether an earlier connection of this command was welcomed.
        let hasConnected: Bool
    }

    private let context: RequestContext
    private let source: any RequestSource
    /// A number by which the server knows that connections belong to one command.
    private let run: UInt64
    private let target: Target
    private var parser = FrameParser()
    private var machine: ClientConnection
    private let expansion = DataExpansion()
    /// Whether the pool found that an answer breaks the protocol. What follows is dropped: content before it is
    /// missing.
    private var hasBadAnswers = false
    /// Requests whose answers arrived, whole or in part, and were dropped because the server broke the protocol.
    private var withheld: [PendingRequest] = []
    private let mayAsk = Signal()
    /// The requests that were sent, in order. The first `firstAsked` have a complete answer, the others do not.
    private var asked: [PendingRequest] = []
    private var firstAsked = 0
    private var number: UInt32 = 0
    /// Counts events after which the source may have new requests.
    private var news = 0
    /// The timer for the moment when the rate limit allows more to be received; nil if no timer runs.
    private var pause: EventLoop.Timer?

    /// How far the server has got.
    private var progress = Progress.none

    private enum Progress: Comparable {
        case none
        /// The server has sent its welcome.
        case connected
        /// The server has answered a request; after that, the waits between attempts start from the shortest again.
        case answered
    }

    /// Called when the server has sent its welcome.
    private let welcomed: @Sendable () -> Void

    init(
        _ context: RequestContext, _ source: any RequestSource, run: UInt64, to target: Target,
        welcomed: @escaping @Sendable () -> Void = {}
    ) {
        (self.context, self.source, self.run, self.target) = (context, source, run, target)
        self.welcomed = welcomed
        machine = ClientConnection(features: context.configuration.contentFeatures)
    }

    /// Runs the connection to its end. Before it returns, it calls `lost()` for each request that will have no answer.
    func run(on connection: isolated Connection) async -> Reconnector.Attempt {
        let timeouts = context.configuration.timeouts
        if let reason = await connection.connect(to: target.address, timeouts, within: target.limit) {
            return attempt(ending: connection.ending ?? .lost(reason))
        }
        await greet(on: connection)
        let reader = Task(executorPreference: connection.loop) { await connection.readLoop() }
        let writer = Task(executorPreference: connection.loop) { await connection.writeLoop() }
        await askLoop(on: connection)
        await finish(on: connection)
        await reader.value
        await writer.value
        return attempt(ending: connection.ending ?? .complete)
    }

    private func attempt(ending: Ending) -> Reconnector.Attempt {
        Reconnector.Attempt(
            ending: ending, hasConnected: progress >= .connected, hasProgressed: progress >= .answered)
    }

    private func greet(on connection: isolated Connection) async {
        guard let socket = connection.driver.socket, connection.ending == nil else { return }
        let greeting = ServerGreeting(server: context.server, security: context.security, pool: context.pool)
        let reason = await greeting.secure(
            socket, hasConnected: target.hasConnected, unless: { connection.ending != nil })
        if let reason { return connection.end(reason) }
        guard connection.ending == nil else { return }
        let features = context.configuration.contentFeatures
        send(.hello(greeting.hello(context.configuration, features: features, run: run)), on: connection)
    }

    /// To be called when the source may have new requests, or wants answers again.
    func resume(on connection: isolated Connection) {
        news += 1
        mayAsk.fire()
        connection.driver.wake.fire()
    }

    func ended(for reason: Ending, on connection: isolated Connection) {
        mayAsk.fire()
        if reason != .complete { connection.close() }
    }

    private func finish(on connection: isolated Connection) async {
        connection.stopTimer()
        if connection.ending == .complete { send(.goodbye(Goodbye(.committed)), on: connection) }
        connection.close()
        // Received answers count even if the connection is lost.
        await connection.finishWork()
        let lost = self.lost
        (asked, withheld) = ([], [])
        firstAsked = 0
        await context.pool.run { [source] in
            for asked in lost { asked.answer.lost() }
            source.settle()
        }
    }
}

extension WireConnection<RequestSession> {
    /// Ends the connection at once.
    func cancel() { end(.cancelled) }

    /// To be called when the source may have new requests, or wants answers again.
    func resume() { session.resume(on: self) }
}

// MARK: Asking

extension RequestSession {
    /// Requests that have to be repeated, each once: those without a complete answer, and those whose answer was
    /// dropped, although they no longer count as open.
    private var lost: [PendingRequest] {
        var seen: Set<ObjectIdentifier> = []
        return (withheld + asked[firstAsked...]).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    private var openCount: Int { asked.count - firstAsked }

    private func askLoop(on connection: isolated Connection) async {
        var hasNothing = false
        var newsBefore = 0
        while connection.ending == nil {
            let free = Limits.requests - openCount
            // Each call of the source costs a hop to the pool, so it is made for half of the allowed requests at least.
            guard machine.isWelcomed, free >= Limits.requests / 2, !hasNothing || news != newsBefore else {
                if machine.isWelcomed, openCount == 0, connection.pipe.isDrained, source.isOver {
                    return connection.end(.complete)
                }
                await mayAsk.wait()
                continue
            }
            newsBefore = news
            let room = Limits.requestBytes - asked[firstAsked...].reduce(0) { $0 + $1.request.cost }
            let next = await context.pool.run { [source] in source.next(free, room) }
            hasNothing = next.isEmpty
            ask(next, on: connection)
        }
    }

    private func ask(_ next: [PendingRequest], on connection: isolated Connection) {
        guard connection.ending == nil else {
            asked += next
            return
        }
        var frames: [UInt8] = []
        for one in next {
            let request = one.request.numbered(number)
            number &+= 1
            guard machine.allows(request) else {
                // The server is leaving; another connection repeats the request.
                asked.append(one)
                connection.end(.lost("the server is stopping"))
                continue
            }
            machine.requested(request)
            request.message.encode(into: &frames)
            asked.append(one)
        }
        connection.outbound.append(frames)
        connection.flush()
    }

    /// The ID that a request was sent with; nil if it has been answered.
    private func id(of one: PendingRequest) -> UInt32? {
        guard let place = asked[firstAsked...].firstIndex(where: { $0 === one }) else { return nil }
        return number &- UInt32(asked.count - place)
    }

    private func takeFirst() {
        firstAsked += 1
        guard firstAsked >= Limits.requests else { return }
        asked.removeFirst(firstAsked)
        firstAsked = 0
    }
}

// MARK: Receiving

extension RequestSession {
    var buffers: BufferPool { context.buffers }

    /// Nil, because all connections belong to one client, which need not share with others.
    var bufferAccount: BufferAccount? { nil }

    var expectsContent: Bool { true }

    func takesAnswers(on connection: isolated Connection) -> Bool {
        source.mayRead(openCount > 0 ? asked[firstAsked].request : nil) && isTimeForMore(on: connection)
    }

    var mostReceived: Int { context.bandwidth?.mostReceived ?? .max }

    func received(_ count: Int) { context.bandwidth?.charge(count) }

    /// Whether the rate limit lets more come now. If not, the session is woken when it does; until then, the unread
    /// bytes hold the server back.
    private func isTimeForMore(on connection: isolated Connection) -> Bool {
        guard let time = context.bandwidth?.pause else { return true }
        guard pause == nil else { return false }
        pause = connection.schedule(at: time) { connection in
            connection.session.pause = nil
            connection.driver.wake.fire()
        }
        return false
    }

    /// Answers of a server need no decision.
    var isUndecided: Bool { false }

    func decide(on connection: isolated Connection) async {}

    func lost(_ reason: String, on connection: isolated Connection) { connection.end(.lost(reason)) }

    /// A frame that was damaged on its way may arrive intact the next time.
    func broke(_ fault: ProtocolFault, on connection: isolated Connection) {
        connection.end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault))
    }

    func peerEnded(on connection: isolated Connection) { connection.end(.lost("the server closed the connection")) }

    func parsed(on connection: isolated Connection) {}

    func step(_ batch: ReceivedBatch, on connection: isolated Connection) throws(ProtocolFault) -> FoundStep {
        let bytes = batch.unparsed
        guard !bytes.isEmpty else { return .needsMore }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return .needsMore
        case .message(let message, let consumed):
            batch.consumed(consumed)
            try take(message, batch, on: connection)
            return .step
        case .data(let piece, let consumed):
            try take(piece, batch, connection.driver)
            batch.consumed(consumed)
            return .step
        }
    }

    /// - Parameter piece: its range counts from the first unparsed byte.
    private func take(
        _ piece: DataPiece, _ batch: ReceivedBatch, _ driver: ConnectionDriver
    ) throws(ProtocolFault) {
        try machine.receiveData(piece.encoding, piece.range.count)
        if !piece.range.isEmpty { driver.liveness.answered(now: .now) }
        if piece.encoding != .hole { context.configuration.traffic?.add(piece.range.count) }
        batch.append(piece, of: asked[firstAsked])
    }

    private func take(
        _ message: Message, _ batch: ReceivedBatch, on connection: isolated Connection
    ) throws(ProtocolFault) {
        let action = try machine.receive(message)
        if action.isAnswer { connection.driver.liveness.answered(now: .now) }
        switch action {
        case .welcomed(let welcome): welcomed(welcome, on: connection)
        case .entries(let entries) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .entries(entries.entries)))
        case .persons(let persons) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .persons(persons.persons)))
        case .deliveries(let found) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .deliveries(found.deliveries)))
        // Empty lists need no work.
        case .entries, .persons, .deliveries: break
        case .arrived(let number):
            source.arrived(number)
            resume(on: connection)
        case .file(let file): batch.pieces.append((asked[firstAsked], .file(file)))
        case .block(let block): batch.pieces.append((asked[firstAsked], .block(block)))
        case .fetched(let end): batch.pieces.append((asked[firstAsked], .end(end)))
        // The server answers no later request any more; another connection repeats them.
        case .outcome(let outcome) where outcome.code == .shuttingDown:
            return connection.end(.lost(outcome.message))
        case .outcome(let outcome): batch.pieces.append((asked[firstAsked], .outcome(outcome.withReason)))
        case .reply(let reply): send(reply, on: connection)
        case .leaving(let goodbye):
            if openCount == 0 { connection.end(.lost(goodbye.message)) }
        case .refused(let result):
            // A server may stop, or may disconnect a client that was idle for long: after both, the requests are
            // repeated.
            guard result.code != .shuttingDown, result.code != .timedOut else {
                return connection.end(.lost(result.message))
            }
            connection.end(result.code == .busy && result.retryAfter != nil ? .paused(result) : .refused(result))
        case .known(let result):
            source.known(result)
            lookedUp(on: connection)
        case .unknown(let ids):
            source.unknown(ids)
            lookedUp(on: connection)
        // All of these except `nothing` concern uploads. This session begins no uploads, so the machine never returns
        // them.
        case .accepted, .found, .progress, .finished, .acknowledged, .receipts, .nothing: break
        }
        switch message {
        case .end, .outcome: answered()
        default: break
        }
    }

    private func answered() {
        takeFirst()
        if Limits.requests - openCount >= Limits.requests / 2 { mayAsk.fire() }
    }

    private func lookedUp(on connection: isolated Connection) {
        progress = .answered
        lookUp(on: connection)
        mayAsk.fire()
    }

    /// Sends the next question about uploads; one at a time.
    private func lookUp(on connection: isolated Connection) {
        guard machine.lookups == 0, let lookup = source.lookup else { return }
        machine.lookedUp(lookup.ids)
        send(.lookup(lookup), on: connection)
    }

    private func welcomed(_ welcome: Welcome, on connection: isolated Connection) {
        progress = max(progress, .connected)
        connection.established(heartbeat: welcome.heartbeat, silence: context.configuration.silenceTimeout)
        guard welcome.features.isSuperset(of: source.needs) else {
            return connection.end(.unsupported(source.needs.absence))
        }
        source.welcomed(welcome, by: ProvenServer(welcome, over: connection.driver.socket))
        lookUp(on: connection)
        welcomed()
        mayAsk.fire()
    }
}

// MARK: Working

extension RequestSession {
    func work(on connection: isolated Connection) async {
        let arrived = connection.pipe.take()
        if hasBadAnswers { withheld += arrived.flatMap(\.withheld) }
        let batches = hasBadAnswers ? [] : arrived
        let work = await context.pool.run { [source, expansion] in Self.work(on: batches, source, expansion) }
        withheld += work.withheld
        // A dropped answer is asked for again. If it counted as progress, a server could make the client repeat it
        // forever.
        if work.hasAnswer { progress = .answered }
        if let fault = work.fault {
            hasBadAnswers = true
            // The server may have closed the connection after it broke the protocol; then that fault is the reason.
            if case .lost = connection.ending, !fault.code.isRetryable { connection.ending = nil }
            broke(fault, on: connection)
        }
        for one in work.unwanted { cancel(one, on: connection) }
        news += 1
        connection.pipe.worked()
        mayAsk.fire()
    }

    func rested(on connection: isolated Connection) {
        mayAsk.fire()
    }

    private static func work(
        on batches: [ReceivedBatch], _ source: any RequestSource, _ expansion: DataExpansion
    ) -> (unwanted: [PendingRequest], withheld: [PendingRequest], hasAnswer: Bool, fault: ProtocolFault?) {
        var (unwanted, withheld): ([PendingRequest], [PendingRequest]) = ([], [])
        var (hasAnswer, fault): (Bool, ProtocolFault?) = (false, nil)
        for batch in batches {
            do throws(ProtocolFault) {
                if fault == nil {
                    try batch.take(expansion) { one in if unwanted.last !== one { unwanted.append(one) } }
                }
            } catch {
                fault = error
            }
            withheld += batch.withheld
            hasAnswer = hasAnswer || batch.hasGivenAnswer
        }
        source.settle()
        return (unwanted, withheld, hasAnswer, fault)
    }

    private func cancel(_ one: PendingRequest, on connection: isolated Connection) {
        guard connection.ending == nil, let id = id(of: one) else { return }
        send(.cancel(id), on: connection)
    }
}

// MARK: Sending

extension RequestSession {
    private func send(_ message: Message, on connection: isolated Connection) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        connection.send(frame)
    }

    func isOwedAnswer(on connection: isolated Connection) -> Bool { openCount > 0 || machine.lookups > 0 }

    func sendPing(on connection: isolated Connection) { send(.ping(0), on: connection) }

    func flushed(on connection: isolated Connection) {}

    /// The server may have sent the reason before it closed the connection; the reader finds the reason, or the end.
    func sendingFailed(_ error: StreamError, on connection: isolated Connection) { connection.outbound = Outbound() }

    func holds(unsent count: Int) {}

    /// A client ends by itself when it has its answers.
    func draining(on connection: isolated Connection) {}
}
