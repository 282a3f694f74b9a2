import Synchronization
import TransferAccess
import TransferCodec
import TransferConnection
import TransferIO
import TransferIntake
package import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The front end of Transfer's own protocol: frames, as docs/PROTOCOL.md has them.
struct BinaryFrontEnd: FrontEnd {
    /// What every frame begins with.
    private static let version = [UInt8(FrameHeader.version >> 8), UInt8(truncatingIfNeeded: FrameHeader.version)]

    let name = "frames"
    let protocols = [FrameHeader.protocolName]
    let openingSize = version.count

    func recognise(_ opening: [UInt8]) -> Recognition {
        guard opening.starts(with: Self.version) else {
            return Self.version.starts(with: opening) ? .needsMore : .no
        }
        return .yes
    }

    func session(for handover: Handover, of core: ServerCore) -> any Session { BinarySession(handover, core) }
}

/// The session of the binary front end, on the loop of its connection. Reads and parses on the loop; what is to be stored goes to the pool in
/// batches, a bounded number at a time, and while the pool is behind, this connection alone is not read.
actor BinarySession {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let intake: Intake
    nonisolated let transport: Transport
    nonisolated let observability: Observability
    let number: Int
    let origin: PeerOrigin
    let worker: UploadWorker
    let requestWorker: RequestWorker
    /// Who pays for its work on the pool.
    var accountHolder: AccountHolder
    /// The holder's.
    var account: PoolAccount
    /// What can be seen of it from elsewhere.
    nonisolated let progress: ConnectionProgress
    private let early = EarlyAnswers()
    let driver: ConnectionDriver
    /// Fired when the client has taken some of what waits for it.
    let roomForAnswers = Signal()
    var waiting = WaitingRequests()
    var parser = FrameParser()
    var conversation = FrameConversation()
    /// As they were when it began; clients are told of them.
    let settings: ServerSettings
    var outbound = Outbound<FrameChunk>()
    /// Decides whether content is compressed for the client; not at all before it has said what it takes.
    var governor = CompressionGovernor(.none)
    var answers = AnswersOnTheirWay()
    /// Of its bytes, those that `Transport.unsent` counts.
    var counted = 0
    /// What is received on its way to the worker.
    var pipe: BatchPipe<FrameBatch>
    private(set) var isDraining = false
    private(set) var ending: SessionEnding?
    /// The name that the client came with; another line may give it another one since.
    var visitor: String?
    /// Whether the client wants to hear of its mail.
    var isWatching = false
    let bell = MailBell()
    /// Whether it is being told.
    var isTelling = false
    /// Whether something has come since.
    var hasNews = false
    /// What the client has said first, as long as nobody has decided about it.
    private var hello: Hello?
    private var isDecided = false
    /// Whether something of uploads was found in what came last.
    private var hasUploads = false

    var peer: String { origin.name }

    init(_ handover: Handover, _ core: ServerCore) {
        (number, origin, loop) = (handover.number, handover.origin, handover.loop)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        (driver, progress, settings) = (handover.driver, handover.progress, handover.settings)
        accountHolder = AccountHolder(origin)
        account = transport.accounts.enter(accountHolder)
        let resources = WorkerResources(core)
        worker = UploadWorker(resources, connection: number, peer: origin.name, early: early, progress: progress)
        requestWorker = RequestWorker(resources, peer: origin.name, trash: worker.uploads.trash)
        pipe = BatchPipe(received: handover.received)
        ending = handover.refusal.map { .fault($0) }
        (worker.uploads.account, worker.intake.accountHolder) = (account, accountHolder)
        if let end = driver.socket?.peerEnd {
            let sender = Sender(connection: number) { end.hasCome }
            (worker.intake.sender, requestWorker.sender) = (sender, sender)
        }
    }

    func run() async {
        armTimer()
        early.connect { [weak self, loop] in Task(executorPreference: loop) { await self?.sendEarly() } }
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        await readLoop()
        await finish()
        transport.accounts.leave(accountHolder)
        await writer.value
    }

    /// Lets running uploads finish, those in parts as well, takes no others, and says goodbye.
    func drain() {
        isDraining = true
        endIfDrained()
    }

    func stop() {
        // Whatever it ends for already, nobody waits for it any longer.
        worker.isEnding.store(true, ordering: .relaxed)
        end(.shutdown)
    }

    func evict(for fault: ProtocolFault) {
        end(.fault(fault))
        send(.result(UploadResult(fault)))
        close()
    }

    func end(_ reason: SessionEnding) {
        guard ending == nil else { return }
        ending = reason
        if reason != .done { worker.isEnding.store(true, ordering: .relaxed) }
        driver.wake.fire()
    }

    /// Who has sent all parts but the last one has nothing open, and still is in the middle of an upload. An answer that
    /// waits for the client is none yet.
    func endIfDrained() {
        // One that ends already has a thread in the worker, which leaves what it has entered.
        guard ending == nil, isDraining, conversation.isSettled, pipe.isDrained, !waiting.isServing, outbound.isEmpty
        else { return }
        // Nobody is in the worker now.
        if !worker.hasUnfinished { end(.shutdown) }
    }
}

// MARK: Reading

extension BinarySession: PipedFrameSession {
    var isEnding: Bool { ending != nil }

    /// What comes with a greeting is kept outside the buffers until somebody has decided about it.
    var mostReceived: Int { isDecided ? .max : Limits.controlBody }

    /// All who have not said who they are share an account for buffers, and deciding takes its time. What came behind the
    /// greeting goes on in a buffer of the client's own.
    var isUndecided: Bool { hello != nil }

    func decide() async {
        guard let hello else { return }
        await decide(hello)
        self.hello = nil
        isDecided = true
    }

    /// Inside an upload, and behind uploads: a push sends many.
    var expectsContent: Bool { hasUploads || conversation.isReceiving }

    func broke(_ fault: ProtocolFault) { end(.fault(fault)) }

    func lost(_ reason: String) { end(.lost(reason)) }

    func ended() {
        let isBetweenUploads = !conversation.isReceiving && parser.isBetweenFrames && pipe.isParsed
        end(isBetweenUploads ? .done : .lost("the client closed the connection"))
    }

    func parsed() {
        if let batch = pipe.filling { hasUploads = !batch.isEmpty }
        send(conversation.takeAnswers())
        tellWorker()
        // Who waits for mail has a use for the connection as long as it is heard of.
        if isWatching { driver.liveness.active(now: .now) }
        // The last thing that a stopping server waits for may have been the end of an upload that it refused.
        endIfDrained()
    }

    /// Bytes for which a hole counts where a rate is expected. It takes the client as long as a MiB of content takes it to digest, and
    /// has eleven bytes; as many as these would let somebody be far slower than the rate.
    private static let worthOfHole = 4 << 10

    func take(_ piece: DataPiece, _ batch: FrameBatch) throws(ProtocolFault) {
        if piece.encoding == .hole { driver.liveness.receivedWorth(Self.worthOfHole) }
        try conversation.take(piece, batch)
    }

    func take(_ message: Message, _ batch: FrameBatch) throws(ProtocolFault) -> Bool {
        switch try conversation.take(message, batch, isStopping: isStopping) {
        case .decide(let hello): self.hello = hello
        case .begun(let isSized):
            driver.liveness.active(now: .now)
            driver.liveness.expectRate(isSized, now: .now)
        case .asked: driver.liveness.active(now: .now)
        case .answer(let request): admit(request)
        case .cancel(let id): cancel(id)
        case .close: end(.done)
        case .nothing: break
        }
        if !conversation.isReceiving { driver.liveness.expectRate(false, now: .now) }
        return ending == nil && hello == nil
    }

    /// From the moment on when nobody can connect any more, though this session may hear of that a little later.
    private var isStopping: Bool { isDraining || intake.isStopping.load(ordering: .relaxed) }
}

// MARK: Storing

extension BinarySession {
    /// Sends what the pool has for the client before it is done with what it works on.
    private func sendEarly() {
        let (frames, settled) = early.take()
        conversation.settled(settled)
        send(frames)
        endIfDrained()
    }

    private func takeBatches() -> [FrameBatch] {
        defer { tellWorker() }
        return pipe.take()
    }

    /// Tells the worker whether another batch will follow the one that it works on.
    private func tellWorker() {
        worker.hasMore.store(pipe.hasMore, ordering: .releasing)
    }

    func work() async {
        let outcome = await transport.pool.run(for: account) { [worker, batches = takeBatches()] in
            worker.process(batches)
        }
        sendEarly()
        conversation.settled(outcome.settled)
        driver.liveness.active(now: .now)
        send(outcome.frames)
        if let refusal = outcome.refusal { end(.refused(refusal)) }
        if outcome.hasEndedMultipart { transport.multipartEnded(of: intake) }
        pipe.worked(leaving: outcome.left)
    }

    func rested() {
        endIfDrained()
    }
}

// MARK: Ending

extension BinarySession {
    /// Stores what was received whole, says the last words, and closes.
    private func finish() async {
        await finishWork()
        await endRequests()
        leaveMailroom()
        await transport.pool.run(for: account) { [worker] in worker.cancel() }
        stopTimer()
        sayGoodbye()
        await linger()
        close()
    }
}

/// The last words of a session.
extension BinarySession {
    func sayGoodbye() {
        switch ending {
        case .fault(let fault):
            observability.log.write([.refused(peer: peer, fault)])
            send(.result(UploadResult(fault)))
        case .refused(let refusal):
            observability.log.write([.notAdmitted(peer: peer, refusal)])
            send(.result(UploadResult(refusal)))
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            // What was begun and has no result, has this one.
            let goodbye = Goodbye(.shuttingDown, "The server is stopping.")
            send(conversation.isSettled ? .goodbye(goodbye) : .result(.stopping))
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}

extension UploadResult {
    /// About a connection on which something was still open.
    fileprivate static let stopping = UploadResult(id: .none, code: .shuttingDown, message: "The server is stopping.")
}

/// What leaves a session beside the answers that the pool has made.
extension BinarySession: ServedSession {
    func send(_ message: Message) {
        var frame: [UInt8] = []
        message.encode(into: &frame)
        send(frame)
    }

    func answersTaken() {
        observe()
        roomForAnswers.fire()
        endIfDrained()
    }

    /// Tells the governor what has left, and whether the client's link is what holds up the rest.
    private func observe() {
        let now = MonotonicTime.now
        for (content, epoch) in answers.left(upTo: outbound.appended - outbound.count) {
            governor.sent(content: content, epoch: epoch, now: now)
        }
        if outbound.isEmpty { governor.starved() } else { governor.blocked(now: now) }
    }
}

/// Frames that a worker has for its client while it is still at work on something long.
package final class EarlyAnswers: Sendable {
    private struct State {
        var frames: [UInt8] = []
        var settled: [UploadID] = []
        var notify: (@Sendable () -> Void)?
    }

    private let state = Locked(State())

    package init() {}

    /// - Parameter notify: called on the worker's thread when there is something to take.
    func connect(_ notify: @escaping @Sendable () -> Void) {
        state.withLock { $0.notify = notify }
    }

    /// - Parameter settled: uploads that have their answer with these frames.
    func send(_ frames: [UInt8], settled: [UploadID] = []) {
        let notify = state.withLock { state in
            state.frames += frames
            state.settled += settled
            return state.notify
        }
        notify?()
    }

    package func take() -> (frames: [UInt8], settled: [UploadID]) {
        state.withLock { state in
            defer { (state.frames, state.settled) = ([], []) }
            return (state.frames, state.settled)
        }
    }
}
