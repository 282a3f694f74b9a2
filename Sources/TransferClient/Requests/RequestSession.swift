import Glibc
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// One connection that asks: sends what its source wants to know, as much as the server takes at once, and hands the
/// answers to the pool, a buffer full at a time. While the pool is behind, it doesn't read. Lives on one of the client's loops.
actor RequestSession {
    typealias Ending = ClientSession.Ending

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let context: RequestContext
    private let source: any RequestSource
    /// Tells the server which connections are of one command.
    private let run: UInt64
    let driver: ConnectionDriver
    var parser = FrameParser()
    private var machine: ClientConnection
    private var outbound = Outbound<Never>()
    private let expansion = DataExpansion()
    /// Whether the server has broken the protocol in what is not looked at before it is worked on. What follows is worth
    /// nothing: content is missing in front of it.
    private var hasBadAnswers = false
    /// Requests whose answers arrived, whole or in part, and were dropped because the server broke the protocol.
    private var withheld: [PendingRequest] = []
    private let mayAsk = Signal()
    /// Requests without a whole answer, in their order.
    private var asked: [PendingRequest] = []
    private var firstAsked = 0
    private var number: UInt32 = 0
    /// What is received on its way to the source.
    var pipe = BatchPipe<ReceivedBatch>()
    /// Counts what may have given the source something to ask.
    private var news = 0
    private var ending: Ending?
    /// Whether it is woken when the rate lets more come.
    private var isWaitingForTime = false

    /// Whether the server has answered.
    private(set) var hasConnected = false

    /// Whether any answer came; then the next attempt starts with patience anew.
    private(set) var hasProgressed = false

    /// Called when the server has let this client in.
    private let welcomed: @Sendable () -> Void

    init(
        _ context: RequestContext, on loop: EventLoop, _ source: any RequestSource, run: UInt64,
        welcomed: @escaping @Sendable () -> Void = {}
    ) {
        self.context = context
        self.loop = loop
        (self.source, self.run) = (source, run)
        self.welcomed = welcomed
        driver = ConnectionDriver(context.configuration.timeouts)
        machine = ClientConnection(features: context.configuration.contentFeatures)
    }

    /// Lives through the connection. Whoever waits for an answer that will not come is told before it returns.
    func converse(
        with address: SocketAddress, within limit: Interval? = nil, hasConnectedBefore: Bool
    ) async -> Ending {
        let timeouts = context.configuration.timeouts
        if let reason = await connect(to: address, timeouts, within: limit) { return ending ?? .lost(reason) }
        await greet(hasConnectedBefore)
        let reader = Task(executorPreference: loop) { await self.readLoop() }
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        await askLoop()
        await finish()
        await reader.value
        await writer.value
        return ending ?? .complete
    }

    private func greet(_ hasConnectedBefore: Bool) async {
        guard let socket = driver.socket, ending == nil else { return }
        let greeting = ServerGreeting(server: context.server, security: context.security, pool: context.pool)
        if let reason = await greeting.secure(socket, hasConnected: hasConnectedBefore, unless: { ending != nil }) {
            return end(reason)
        }
        guard ending == nil else { return }
        let features = context.configuration.contentFeatures
        send(.hello(greeting.hello(context.configuration, features: features, run: run)))
    }

    /// Ends at once.
    func cancel() {
        end(.cancelled)
    }

    /// The source may have something to ask, or want answers again.
    func resume() {
        news += 1
        mayAsk.fire()
        driver.wake.fire()
    }

    private func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        mayAsk.fire()
        driver.wake.fire()
        if reason != .complete { close() }
    }

    func close() {
        driver.close()
    }

    private func finish() async {
        stopTimer()
        if ending == .complete { send(.goodbye(Goodbye(.committed))) }
        close()
        // What has arrived counts, also when the connection is lost.
        await finishWork()
        let lost = self.lost
        (asked, withheld) = ([], [])
        firstAsked = 0
        await context.pool.run { [source] in
            for asked in lost { asked.answer.lost() }
            source.settle()
        }
    }
}

// MARK: Asking

extension RequestSession {
    /// Requests that have to be asked again, each once: those without a whole answer, and those whose answer was dropped, although
    /// they no longer count as open.
    private var lost: [PendingRequest] {
        var seen: Set<ObjectIdentifier> = []
        return (withheld + asked[firstAsked...]).filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    private var openCount: Int { asked.count - firstAsked }

    private func askLoop() async {
        var hasNothing = false
        var newsBefore = 0
        while ending == nil {
            let free = Limits.requests - openCount
            // Few at a time would cost a hop to the pool each.
            guard machine.isWelcomed, free >= Limits.requests / 2, !hasNothing || news != newsBefore else {
                if machine.isWelcomed, openCount == 0, pipe.isDrained, source.isOver {
                    return end(.complete)
                }
                await mayAsk.wait()
                continue
            }
            newsBefore = news
            let room = Limits.requestBytes - asked[firstAsked...].reduce(0) { $0 + $1.request.cost }
            let next = await context.pool.run { [source] in source.next(free, room) }
            hasNothing = next.isEmpty
            ask(next)
        }
    }

    private func ask(_ next: [PendingRequest]) {
        guard ending == nil else {
            asked += next
            return
        }
        var frames: [UInt8] = []
        for one in next {
            let request = one.request.numbered(number)
            number &+= 1
            guard machine.allows(request) else {
                // The server leaves; another connection asks again.
                asked.append(one)
                end(.lost("the server is stopping"))
                continue
            }
            machine.requested(request)
            request.message.encode(into: &frames)
            asked.append(one)
        }
        outbound.append(frames)
        flush()
    }

    /// The id that a request was sent with.
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

extension RequestSession: PipedFrameSession {
    var isEnding: Bool { ending != nil }

    var buffers: BufferPool { context.buffers }

    /// They are all of one client.
    var bufferAccount: BufferAccount? { nil }

    var takesAnswers: Bool {
        source.mayRead(openCount > 0 ? asked[firstAsked].request : nil) && isTimeForMore
    }

    var mostReceived: Int { context.bandwidth?.mostReceived ?? .max }

    func received(_ count: Int) { context.bandwidth?.charge(count) }

    /// Whether the rate lets more come now; otherwise the session looks again when it does. What is not read holds the server
    /// back.
    private var isTimeForMore: Bool {
        guard let time = context.bandwidth?.pause else { return true }
        guard !isWaitingForTime else { return false }
        isWaitingForTime = true
        _ = loop.schedule(at: time.nanoseconds) { [weak self] in
            self?.assumeIsolated { session in
                session.isWaitingForTime = false
                session.driver.wake.fire()
            }
        }
        return false
    }

    /// What the server says needs no decision.
    var isUndecided: Bool { false }

    func decide() async {}

    func lost(_ reason: String) { end(.lost(reason)) }

    /// What was damaged on its way may arrive whole the next time.
    func broke(_ fault: ProtocolFault) { end(fault.code.isRetryable ? .lost(fault.message) : .fault(fault)) }

    func ended() { end(.lost("the server closed the connection")) }

    func parsed() {}

    func take(_ piece: DataPiece, _ batch: ReceivedBatch) throws(ProtocolFault) {
        try machine.receiveData(piece.encoding, piece.range.count)
        if !piece.range.isEmpty { driver.liveness.answered(now: .now) }
        if piece.encoding != .hole { context.configuration.traffic?.add(piece.range.count) }
        batch.append(piece, of: asked[firstAsked])
    }

    func take(_ message: Message, _ batch: ReceivedBatch) throws(ProtocolFault) -> Bool {
        try handle(message, batch)
        return ending == nil
    }

    private func handle(_ message: Message, _ batch: ReceivedBatch) throws(ProtocolFault) {
        let action = try machine.receive(message)
        if action.isAnswer { driver.liveness.answered(now: .now) }
        switch action {
        case .welcomed(let welcome): welcomed(welcome)
        case .entries(let entries) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .entries(entries.entries)))
        case .persons(let persons) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .persons(persons.persons)))
        case .deliveries(let found) where action.isAnswer:
            batch.pieces.append((asked[firstAsked], .deliveries(found.deliveries)))
        // Lists with nothing in them are no work.
        case .entries, .persons, .deliveries: break
        case .arrived(let number):
            source.arrived(number)
            resume()
        case .file(let file): batch.pieces.append((asked[firstAsked], .file(file)))
        case .block(let block): batch.pieces.append((asked[firstAsked], .block(block)))
        case .fetched(let end): batch.pieces.append((asked[firstAsked], .end(end)))
        // Nothing after this one is answered otherwise; another connection asks again.
        case .outcome(let outcome) where outcome.code == .shuttingDown: return end(.lost(outcome.message))
        case .outcome(let outcome): batch.pieces.append((asked[firstAsked], .outcome(outcome.withReason)))
        case .reply(let reply): send(reply)
        case .leaving(let goodbye):
            if openCount == 0 { end(.lost(goodbye.message)) }
        case .refused(let result):
            // A server may go, and may tire of a client that waits for long: neither is the end of what was asked.
            guard result.code != .shuttingDown, result.code != .timedOut else { return end(.lost(result.message)) }
            end(result.code == .busy && result.retryAfter != nil ? .paused(result) : .refused(result))
        case .known(let result):
            source.known(result)
            lookedUp()
        case .unknown(let ids):
            source.unknown(ids)
            lookedUp()
        // No upload was begun here, so the machine lets nothing about one pass.
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

    private func lookedUp() {
        hasProgressed = true
        lookUp()
        mayAsk.fire()
    }

    /// One question after the other.
    private func lookUp() {
        guard machine.lookups == 0, let lookup = source.lookup else { return }
        machine.lookedUp(lookup.ids)
        send(.lookup(lookup))
    }

    private func welcomed(_ welcome: Welcome) {
        hasConnected = true
        established(heartbeat: welcome.heartbeat, silence: context.configuration.silenceTimeout)
        guard welcome.features.isSuperset(of: source.needs) else { return end(.unsupported(source.needs.absence)) }
        source.welcomed(welcome, by: ProvenServer(welcome, over: driver.socket))
        lookUp()
        welcomed()
        mayAsk.fire()
    }
}

// MARK: Working

extension RequestSession {
    func work() async {
        let arrived = pipe.take()
        if hasBadAnswers { withheld += arrived.flatMap(\.withheld) }
        let batches = hasBadAnswers ? [] : arrived
        let work = await context.pool.run { [source, expansion] in Self.work(on: batches, source, expansion) }
        withheld += work.withheld
        // An answer that was refused is asked for again. If it counted as progress, a server could have that go on for ever.
        if work.hasAnswer { hasProgressed = true }
        if let fault = work.fault {
            hasBadAnswers = true
            // The server may have closed the connection behind its fault, which is the reason then.
            if case .lost = ending, !fault.code.isRetryable { ending = nil }
            broke(fault)
        }
        for one in work.unwanted { cancel(one) }
        news += 1
        pipe.worked()
        mayAsk.fire()
    }

    func rested() {
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

    private func cancel(_ one: PendingRequest) {
        guard ending == nil, let id = id(of: one) else { return }
        send(.cancel(id))
    }
}

// MARK: Sending

extension RequestSession {
    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        outbound.append(frame)
        flush()
    }

    var hasUnsent: Bool { !outbound.isEmpty }

    var isOwedAnswer: Bool { openCount > 0 || machine.lookups > 0 }

    func drain(into socket: StreamSocket) throws(StreamError) -> Bool {
        let before = outbound.count
        try outbound.drain { (bytes) throws(StreamError) in try socket.send(bytes) }
        return outbound.count < before
    }

    func flushed() {}

    /// The server may have said why before it closed; the reader will find that, or the end.
    func sendingFailed(_ error: StreamError) {
        outbound = Outbound()
    }
}
