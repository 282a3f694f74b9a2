import Synchronization
import TransferAccess
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// One connection, on one loop for life. Reads and parses on the loop; what is to be stored goes to the pool in
/// batches, a bounded number at a time, and while the pool is behind, this connection alone is not read.
actor ServerSession {
    /// Why the session reads no more.
    enum Ending: Equatable {
        /// The client said goodbye or closed between uploads.
        case done
        /// The connection broke, or ended inside an upload.
        case lost(String)
        /// There is no TLS with this client.
        case insecure(String)
        /// The client may not come in, or not any more.
        case refused(Refusal)
        /// The client broke the protocol or was given up.
        case fault(ProtocolFault)
        /// The server is going.
        case shutdown
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let context: ServerContext
    let number: Int
    let origin: PeerOrigin
    let lane: UploadLane
    let requestLane: RequestLane
    /// Who pays for its work on the pool.
    var owner: AccountHolder
    /// The owner's.
    var account: PoolAccount
    /// What can be seen of it from elsewhere.
    nonisolated let progress: ConnectionProgress
    private let early = EarlyFrames()
    let wake = Signal()
    /// Fired when the client has taken some of what waits for it.
    let roomForAnswers = Signal()
    var waiting = WaitingRequests()
    var socket: StreamSocket?
    var machine = ServerConnection()
    private var parser = FrameParser()
    /// As they were when it began; clients are told of them.
    let settings: ServerSettings
    var liveness: Liveness
    private var timer: EventLoop.Timer?
    var outbound = Outbound()
    /// Of its bytes, those that `ServerContext.unsent` counts.
    var counted = 0
    private var replies: [UInt8] = []
    /// What is received on its way to the lane.
    private var pipe = BatchPipe<LaneBatch>()
    private var turns = Turns(of: ServerContext.bufferSize)
    private(set) var isDraining = false
    var isOver = false
    private(set) var ending: Ending?
    /// What the client has said first, as long as nobody has decided about it.
    private var hello: Hello?
    private var isDecided = false
    /// Whether frames may be sent: not before both sides know how they talk.
    var mayTalk = false

    var peer: String { origin.name }

    /// - Parameters:
    ///   - number: of the connection; they grow.
    ///   - refusal: what the client is told, and then nothing else.
    init(
        _ number: Int, from origin: PeerOrigin, loop: EventLoop, context: ServerContext, refusal: ProtocolFault? = nil
    ) {
        self.number = number
        self.origin = origin
        self.loop = loop
        self.context = context
        progress = ConnectionProgress(number, peer: origin.name)
        owner = AccountHolder(origin)
        account = context.accounts.enter(owner)
        lane = UploadLane(context: context, connection: number, peer: origin.name, early: early, progress: progress)
        requestLane = RequestLane(context: context, peer: origin.name)
        settings = context.settings
        liveness = Liveness(settings.timeouts, now: .now)
        ending = refusal.map { .fault($0) }
        (lane.account, lane.intake.holder) = (account, owner)
    }

    /// Lives through the whole connection; returns when the socket is closed and nothing of it is left.
    ///
    /// - Parameter descriptor: the connected socket's, which becomes the session's.
    func run(_ descriptor: Int32) async {
        do throws(SystemError) {
            let socket = try StreamSocket(Descriptor(descriptor), loop: loop, readable: wake)
            self.socket = socket
            lane.intake.sender = Sender(connection: number) { [end = socket.peerEnd] in end.hasCome }
        } catch {
            context.log.write([.closed(peer: peer, reason: error.description)])
            context.accounts.leave(owner)
            return
        }
        socket?.disableDelay()
        if origin.isLocal { socket?.tuneForLoopback() }
        context.log.write([.connected(peer: peer)])
        armTimer()
        await secure()
        early.connect { [weak self, loop] in Task(executorPreference: loop) { await self?.sendEarly() } }
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        await readLoop()
        await finish()
        context.accounts.leave(owner)
        await writer.value
    }

    /// Lets running uploads finish, those in parts as well, takes no others, and says goodbye.
    func drain() {
        isDraining = true
        endIfDrained()
    }

    /// Waits for nothing more; the client is told, so that it can go on elsewhere or later.
    func stop() {
        end(.shutdown)
    }

    /// Ends at once, because others need the place and its handshake has taken longest.
    func evict() {
        end(.fault(.tooManyHandshakes))
        // It may not have begun to run; then it will find its end.
        guard socket != nil else { return }
        send(.result(UploadResult(.tooManyHandshakes)))
        close()
    }

    func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        if reason != .done { lane.isEnding.store(true, ordering: .relaxed) }
        wake.fire()
    }

    /// Who has sent all parts but the last one has nothing open, and still is in the middle of an upload. An answer that
    /// waits for the client is none yet.
    func endIfDrained() {
        // One that ends already has a thread in the lane, which leaves what it has entered.
        guard ending == nil, isDraining, machine.isSettled, pipe.isDrained, !waiting.isServing, outbound.isEmpty else {
            return
        }
        // Nobody is in the lane now.
        if !lane.hasUnfinished { end(.shutdown) }
    }

    func close() {
        isOver = true
        socket?.close()
        countUnsent()
    }
}

// MARK: Reading

extension ServerSession {
    private func readLoop() async {
        while ending == nil {
            if let hello {
                // All who have not said who they are share its account, and deciding takes its time. What came behind the
                // greeting goes on in a buffer of the client's own.
                pipe.setAside()
                await decide(hello)
                self.hello = nil
                isDecided = true
                continue
            }
            switch reading {
            case .wait:
                // A client that doesn't take its results must not keep a buffer.
                handOver()
                pauseReading(true)
                await wake.wait()
            case .takeBuffer:
                pauseReading(false)
                pipe.begin(in: await takeBuffer())
            case .parse:
                pauseReading(false)
                await letOthers(after: catchUp())
            case .receive:
                pauseReading(false)
                switch pump() {
                case 0: await wake.wait()
                case let count: await letOthers(after: count)
                }
            }
        }
        // Whoever lingers waits for the end of what comes.
        pauseReading(false)
    }

    private func pauseReading(_ isPaused: Bool) {
        liveness.pauseReading(isPaused, now: .now)
        socket?.pauseReading(isPaused)
    }

    private var reading: BatchPipe<LaneBatch>.Reading {
        pipe.reading(
            isScarce: context.buffers.isScarce(for: account.buffers), takesAnswers: outbound.count < outboundLimit)
    }

    /// Receives once. Not part of the loop, whose variables would hold the buffer while it waits.
    ///
    /// - Returns: how many bytes came; 0 when there is nothing to receive now.
    private func pump() -> Int {
        guard let batch = pipe.filling else { return 0 }
        switch receive(into: batch) {
        case .wouldBlock:
            handOver()
            return 0
        case .bytes(let count):
            batch.input.received(count)
            liveness.received(count, now: .now)
            parse(batch)
            handOver()
            return count
        case .end:
            end(isBetweenUploads ? .done : .lost("the client closed the connection"))
            return 0
        }
    }

    /// Parses what came with a batch that had all its steps.
    ///
    /// - Returns: how many bytes that took, or 1: there may be more to receive, and nothing else to wake this up.
    private func catchUp() -> Int {
        guard let batch = pipe.filling else { return 1 }
        let before = batch.input.parsed
        parse(batch)
        handOver()
        return max(1, batch.input.parsed - before)
    }

    /// Gives way from time to time: a client that always has more to say must not keep the loop from the others.
    func letOthers(after count: Int) async {
        if turns.isOver(after: count) { await Task.yield() }
    }

    /// While the buffers are all in use, this side doesn't read.
    private func takeBuffer() async -> BlockBuffer {
        if let buffer = context.buffers.takeNow(for: account.buffers) { return buffer }
        pauseReading(true)
        defer { pauseReading(false) }
        return await context.buffers.take(for: account.buffers)
    }

    private var isBetweenUploads: Bool {
        !machine.isReceiving && parser.isBetweenFrames && pipe.isParsed
    }

    private func receive(into batch: LaneBatch) -> StreamSocket.Received {
        do throws(StreamError) {
            let free = batch.input.free
            // What comes with a greeting is kept outside the buffers until somebody has decided about it.
            let room = isDecided ? free.count : min(free.count, Limits.controlBody)
            return try socket?.receive(into: UnsafeMutableRawBufferPointer(rebasing: free[..<room])) ?? .end
        } catch {
            end(.lost(error.reason))
            return .wouldBlock
        }
    }

    private func parse(_ batch: LaneBatch) {
        var hasMore = true
        do throws(ProtocolFault) {
            while ending == nil, hello == nil, !batch.isComplete, hasMore { hasMore = try step(batch) }
        } catch {
            end(.fault(error))
        }
        pipe.parsed(hasMore && !batch.input.unparsed.isEmpty || hello != nil ? .untilFull : .everything)
        send(replies)
        replies = []
        tellLane()
        // The last thing that a stopping server waits for may have been the end of an upload that it refused.
        endIfDrained()
    }

    /// - Returns: false when more bytes are needed.
    private func step(_ batch: LaneBatch) throws(ProtocolFault) -> Bool {
        let bytes = batch.input.unparsed
        guard !bytes.isEmpty else { return false }
        switch try parser.next(bytes.bytes) {
        case .needsMore: return false
        case .message(let message, let consumed):
            batch.input.consumed(consumed)
            try handle(message, batch)
        case .data(let piece, let consumed):
            if try machine.receiveData() == .store { batch.append(piece) }
            batch.input.consumed(consumed)
        }
        return true
    }

    private func handle(_ message: Message, _ batch: LaneBatch) throws(ProtocolFault) {
        switch try machine.receive(message) {
        case .welcome(let hello): self.hello = hello
        case .begin(let begin): admit(begin, batch)
        case .resume(let begin): admit(begin, batch, isQuestion: true)
        case .lookup(let lookup): admit(lookup, batch)
        case .block(let block): batch.operations.append(.block(block))
        case .end(let end): batch.operations.append(.end(end))
        case .abort: batch.operations.append(.abort)
        case .request(let request): admit(request)
        case .cancel(let id): cancel(id)
        case .reply(let reply):
            // Sent when all that was received is parsed: thousands of pings must not cost a call each.
            reply.encode(into: &replies)
        case .close: end(.done)
        case .nothing: break
        }
        if !machine.isReceiving { liveness.expectRate(false, now: .now) }
    }

    /// From the moment on when nobody can connect any more, though this session may hear of that a little later.
    private var isStopping: Bool { isDraining || context.intake.isStopping.load(ordering: .relaxed) }

    private func admit(_ begin: Begin, _ batch: LaneBatch, isQuestion: Bool = false) {
        // Whether it is some of an upload that was under way, the lane knows.
        guard !isStopping || begin.scope != .whole && !isQuestion else {
            machine.settled(begin.id)
            send(.result(UploadResult(id: begin.id, code: .shuttingDown, message: "The server is stopping.")))
            return
        }
        liveness.active(now: .now)
        guard !isQuestion else { return batch.operations.append(.resume(begin)) }
        batch.operations.append(.begin(begin))
        liveness.expectRate(begin.size != nil, now: .now)
    }

    private func admit(_ lookup: Lookup, _ batch: LaneBatch) {
        guard !isStopping else {
            for id in lookup.ids { machine.settled(id) }
            return send(.unknown(lookup.ids))
        }
        liveness.active(now: .now)
        batch.operations.append(.lookup(lookup))
    }
}

// MARK: Storing

extension ServerSession {
    private func handOver() {
        if pipe.handOver() { startWork() }
    }

    private func startWork() {
        Task(executorPreference: loop) { await self.workLoop() }
    }

    /// Sends what the pool has for the client before it is done with what it works on.
    private func sendEarly() {
        let (frames, settled) = early.take()
        for id in settled { machine.settled(id) }
        send(frames)
        endIfDrained()
    }

    private func takeBatches() -> [LaneBatch] {
        defer { tellLane() }
        return pipe.take()
    }

    /// Tells the lane whether another batch will follow the one that it works on.
    private func tellLane() {
        lane.hasMore.store(pipe.hasMore, ordering: .releasing)
    }

    private func workLoop() async {
        while pipe.hasWork {
            let outcome = await context.pool.run(for: account) { [lane, batches = takeBatches()] in
                lane.process(batches)
            }
            sendEarly()
            for id in outcome.settled { machine.settled(id) }
            liveness.active(now: .now)
            send(outcome.frames)
            if let refusal = outcome.refusal { end(.refused(refusal)) }
            if outcome.hasEndedAssembly { context.assemblyEnded() }
            pipe.worked(leaving: outcome.left)
            wake.fire()
        }
        pipe.rest()
        endIfDrained()
        wake.fire()
    }
}

// MARK: Time

extension ServerSession {
    func armTimer() {
        if let timer { loop.cancel(timer) }
        timer = loop.schedule(at: liveness.deadline.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    private func timerFired() {
        timer = nil
        guard !isOver, ending == nil else { return }
        if pipe.isWorking { liveness.active(now: .now) }
        switch liveness.expire(now: .now) {
        case .nothing: break
        case .sendPing: send(.ping(0))
        case .giveUp(let fault): end(.fault(fault))
        }
        armTimer()
    }
}

// MARK: Ending

extension ServerSession {
    /// Stores what was received whole, says the last words, and closes.
    private func finish() async {
        if pipe.finish() { startWork() }
        while pipe.isWorking { await wake.wait() }
        await endRequests()
        await context.pool.run(for: account) { [lane] in lane.cancel() }
        if let timer { loop.cancel(timer) }
        sayGoodbye()
        await linger()
        close()
    }
}
