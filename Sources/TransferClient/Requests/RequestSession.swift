import Glibc
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// One connection that asks: sends what its source wants to know, as much as the server takes at once, and hands the
/// answers to the pool, a buffer full at a time. While the pool is behind, it doesn't read. Lives on one of the client's loops.
actor RequestSession {
    typealias Ending = ClientSession.Ending

    /// Batches that wait for the pool beside the one that it works on and the one being filled.
    private static let queueLimit = 8

    /// Heartbeats in the time after which a silent server is given up: some pongs must have the time to come back.
    private static let heartbeatsInSilence = 3.0

    private nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let context: RequestContext
    private let source: any RequestSource
    private var socket: StreamSocket?
    private var machine = ClientConnection()
    private var parser = FrameParser()
    private var liveness: Liveness
    private var timer: EventLoop.Timer?
    private var unsent: [UInt8] = []
    private let mayAsk = Signal()
    /// Fired when something has come, and when there is room for it again.
    private let mayRead = Signal()
    /// Requests without a whole answer, in their order.
    private var asked: [Asked] = []
    private var firstAsked = 0
    private var number: UInt32 = 0
    private var filling: ReceivedBatch?
    private var carry: [UInt8] = []
    private var queue: [ReceivedBatch] = []
    private var isWorking = false
    /// Counts what may have given the source something to ask.
    private var news = 0
    private var isOver = false
    private var ending: Ending?

    /// Whether the server has answered.
    private(set) var hasConnected = false

    /// Whether any answer came; then the next attempt starts with patience anew.
    private(set) var hasProgressed = false

    /// Called when the server has let this client in.
    private let welcomed: @Sendable () -> Void

    init(
        _ context: RequestContext, on loop: EventLoop, _ source: any RequestSource,
        welcomed: @escaping @Sendable () -> Void = {}
    ) {
        self.context = context
        self.loop = loop
        self.source = source
        self.welcomed = welcomed
        liveness = Liveness(context.configuration.timeouts, now: .now)
    }

    /// Lives through the connection. Whoever waits for an answer that will not come is told before it returns.
    func converse(with address: SocketAddress, hasConnectedBefore: Bool) async -> Ending {
        do throws(SystemError) {
            let socket = try StreamSocket(for: address, loop: loop, readable: mayRead)
            self.socket = socket
            guard ending == nil else { throw SystemError(errno: ECANCELED, call: "connect") }
            try await socket.connect(to: address, timeout: context.configuration.timeouts.handshake.nanoseconds)
        } catch {
            close()
            return ending ?? .lost(error.reason)
        }
        liveness = Liveness(context.configuration.timeouts, now: .now)
        armTimer()
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
        guard let socket, ending == nil else { return }
        let greeting = ServerGreeting(server: context.server, security: context.security, pool: context.pool)
        if let reason = await greeting.secure(socket, hasConnected: hasConnectedBefore, unless: { ending != nil }) {
            return end(reason)
        }
        if ending == nil { send(.hello(greeting.hello(context.configuration, features: [], run: nil))) }
    }

    /// Ends at once.
    func cancel() {
        end(.cancelled)
    }

    /// The source may have something to ask, or want answers again.
    func resume() {
        news += 1
        mayAsk.fire()
        mayRead.fire()
    }

    private func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        mayAsk.fire()
        mayRead.fire()
        if reason != .complete { close() }
    }

    private func close() {
        guard !isOver else { return }
        isOver = true
        socket?.close()
    }

    private func finish() async {
        if let timer { loop.cancel(timer) }
        timer = nil
        if ending == .complete { send(.goodbye(Goodbye(.committed))) }
        close()
        mayRead.fire()
        // What has arrived counts, also when the connection is lost.
        submit(unless: false)
        while isWorking { await mayAsk.wait() }
        let lost = Array(asked[firstAsked...])
        asked = []
        firstAsked = 0
        await context.pool.run { [source] in
            for asked in lost { asked.answer.lost() }
            source.settle()
        }
    }
}

// MARK: Asking

extension RequestSession {
    private var openCount: Int { asked.count - firstAsked }

    private func askLoop() async {
        var hasNothing = false
        var newsBefore = 0
        while ending == nil {
            let free = Limits.requests - openCount
            // Few at a time would cost a hop to the pool each.
            guard machine.isWelcomed, free >= Limits.requests / 2, !hasNothing || news != newsBefore else {
                if machine.isWelcomed, openCount == 0, !isWorking, queue.isEmpty, source.isOver {
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

    private func ask(_ next: [Asked]) {
        guard ending == nil else {
            asked += next
            return
        }
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
            request.message.encode(into: &unsent)
            asked.append(one)
        }
        flush()
    }

    /// The id that a request was sent with.
    private func id(of one: Asked) -> UInt32? {
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
    private func readLoop() async {
        while ending == nil {
            let next = openCount > 0 ? asked[firstAsked].request : nil
            guard queue.count < Self.queueLimit, source.mayRead(next) else {
                pauseReading(true)
                await mayRead.wait()
                continue
            }
            pauseReading(false)
            if filling == nil { filling = ReceivedBatch(await takeBuffer(), carry: carry) }
            if !pump() { await mayRead.wait() }
        }
    }

    private func takeBuffer() async -> BlockBuffer {
        if let buffer = context.buffers.takeNow() { return buffer }
        pauseReading(true)
        defer { pauseReading(false) }
        return await context.buffers.take()
    }

    private func pauseReading(_ isPaused: Bool) {
        liveness.pauseReading(isPaused, now: .now)
        socket?.pauseReading(isPaused)
    }

    /// Receives once. Not part of the loop, whose variables would hold the buffer while it waits.
    ///
    /// - Returns: whether there may be more to receive now.
    private func pump() -> Bool {
        guard ending == nil, let batch = filling else { return true }
        switch receive(into: batch.input.free) {
        case .wouldBlock:
            submit(unless: isWorking)
            return false
        case .end:
            submit(unless: false)
            end(.lost("the server closed the connection"))
        case .bytes(let count):
            batch.input.received(count)
            liveness.received(count, now: .now)
            parse(batch)
            submit(unless: !batch.isFull && isWorking)
        }
        return true
    }

    private func receive(into buffer: UnsafeMutableRawBufferPointer) -> StreamSocket.Received {
        do throws(StreamError) {
            return try socket?.receive(into: buffer) ?? .end
        } catch {
            end(.lost(error.reason))
            return .wouldBlock
        }
    }

    private func parse(_ batch: ReceivedBatch) {
        do throws(ProtocolFault) {
            while ending == nil, try step(batch) {}
        } catch {
            // What was damaged on its way may arrive whole the next time.
            end(error.code.isRetryable ? .lost(error.message) : .fault(error))
        }
    }

    /// - Returns: false when more bytes are needed.
    private func step(_ batch: ReceivedBatch) throws(ProtocolFault) -> Bool {
        let bytes = batch.input.unparsed
        guard !bytes.isEmpty else { return false }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return false
        case .message(let message, let consumed):
            batch.input.consumed(consumed)
            try handle(message, batch)
        case .data(let piece, let consumed):
            try machine.receiveData()
            guard piece.encoding == .stored else {
                throw ProtocolFault(.unexpectedFrame, "The server compresses what was to come as it is.")
            }
            batch.append(piece, of: asked[firstAsked])
            batch.input.consumed(consumed)
        }
        return true
    }

    private func handle(_ message: Message, _ batch: ReceivedBatch) throws(ProtocolFault) {
        switch try machine.receive(message) {
        case .welcomed(let welcome): welcomed(welcome)
        case .entries(let entries): batch.pieces.append((asked[firstAsked], .entries(entries.entries)))
        case .file(let file): batch.pieces.append((asked[firstAsked], .file(file)))
        case .block(let block): batch.pieces.append((asked[firstAsked], .block(block)))
        case .fetched(let end): batch.pieces.append((asked[firstAsked], .end(end)))
        // Nothing after this one is answered otherwise; another connection asks again.
        case .outcome(let outcome) where outcome.code == .shuttingDown: return end(.lost(outcome.message))
        case .outcome(let outcome): batch.pieces.append((asked[firstAsked], .outcome(outcome)))
        case .reply(let reply): send(reply)
        case .leaving(let goodbye):
            if openCount == 0 { end(.lost(goodbye.message)) }
        case .refused(let result):
            guard result.code != .shuttingDown else { return end(.lost(result.message)) }
            end(result.code == .busy && result.retryAfter != nil ? .paused(result) : .refused(result))
        // No upload was begun here, so the machine lets nothing about one pass.
        case .accepted, .found, .progress, .finished, .acknowledged, .receipts, .known, .unknown, .nothing: break
        }
        switch message {
        case .end, .outcome: answered()
        default: break
        }
    }

    private func answered() {
        takeFirst()
        hasProgressed = true
        if Limits.requests - openCount >= Limits.requests / 2 { mayAsk.fire() }
    }

    private func welcomed(_ welcome: Welcome) {
        hasConnected = true
        let longest = Interval.seconds(context.configuration.silenceTimeout / Self.heartbeatsInSilence)
        liveness.timeouts.heartbeat = min(.milliseconds(Int64(max(1000, welcome.heartbeat))), longest)
        liveness.established(now: .now)
        armTimer()
        guard welcome.features.contains(.files) else {
            return end(
                .unsupported(
                    "The server only takes uploads: it is of an older version, which can neither list nor send nor "
                        + "remove what it has."))
        }
        welcomed()
        mayAsk.fire()
    }
}

// MARK: Working

extension RequestSession {
    private func submit(unless shouldWait: Bool) {
        guard let batch = filling else { return }
        guard !batch.pieces.isEmpty else {
            // Nothing for the pool in it. It may be full of half a message, which the next one has room for.
            return release(batch)
        }
        guard !shouldWait else { return }
        release(batch)
        queue.append(batch)
        guard !isWorking else { return }
        isWorking = true
        Task(executorPreference: loop) { await self.workLoop() }
    }

    private func release(_ batch: ReceivedBatch) {
        carry = Array(batch.input.unparsed)
        filling = nil
    }

    private func takeQueue() -> [ReceivedBatch] {
        defer { queue = [] }
        return queue
    }

    private func workLoop() async {
        while !queue.isEmpty {
            let work = await context.pool.run { [source, batches = takeQueue()] in Self.work(on: batches, source) }
            if let fault = work.fault { end(.fault(fault)) }
            for one in work.unwanted { cancel(one) }
            news += 1
            mayAsk.fire()
            mayRead.fire()
        }
        isWorking = false
        mayAsk.fire()
    }

    private static func work(
        on batches: [ReceivedBatch], _ source: any RequestSource
    ) -> (unwanted: [Asked], fault: ProtocolFault?) {
        var unwanted: [Asked] = []
        var fault: ProtocolFault?
        for batch in batches where fault == nil {
            do throws(ProtocolFault) {
                try batch.take { one in if unwanted.last !== one { unwanted.append(one) } }
            } catch {
                fault = error
            }
        }
        source.settle()
        return (unwanted, fault)
    }

    private func cancel(_ one: Asked) {
        guard ending == nil, let id = id(of: one) else { return }
        send(.cancel(id))
    }
}

// MARK: Sending, and time

extension RequestSession {
    private func send(_ message: Message) {
        message.encode(into: &unsent)
        flush()
    }

    private func flush() {
        guard !isOver, !unsent.isEmpty, let socket else { return }
        do throws(StreamError) {
            while !unsent.isEmpty {
                let taken = try unsent.span.bytes.withUnsafeBytes { (bytes) throws(StreamError) in
                    try socket.send(bytes)
                }
                guard let taken else { return }
                unsent.removeFirst(taken)
                liveness.sent(now: .now)
            }
        } catch {
            // The server may have said why before it closed; the reader will find that, or the end.
            unsent = []
        }
    }

    private func writeLoop() async {
        while !isOver {
            await socket?.writable.wait()
            flush()
        }
    }

    private func armTimer() {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: liveness.deadline.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    private func timerFired() {
        timer = nil
        guard !isOver, ending == nil else { return }
        switch liveness.expire(now: .now) {
        case .nothing: break
        case .sendPing: send(.ping(0))
        case .giveUp(let fault): end(.lost(fault.message))
        }
        armTimer()
    }
}

extension Request {
    /// The same with another id.
    fileprivate func numbered(_ id: UInt32) -> Request {
        switch self {
        case .list(var list):
            list.id = id
            return .list(list)
        case .fetch(var fetch):
            fetch.id = id
            return .fetch(fetch)
        case .remove(var remove):
            remove.id = id
            return .remove(remove)
        }
    }
}
