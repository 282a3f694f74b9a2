import Synchronization
package import TransferAccess
package import TransferClassic
import TransferConnection
package import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The front end of one of the classic framings, as docs/DIALECTS.md has them, on a listener of its own: nothing else is
/// spoken there, so nothing has to be recognised.
struct ClassicFrontEnd: FrontEnd {
    let listener: ClassicListener

    var name: String { listener.framing.name }

    /// They know no TLS.
    var protocols: [String] { [] }

    var openingSize: Int { 0 }

    func recognise(_ opening: [UInt8]) -> Recognition { .yes }

    func session(for handover: Handover, of core: ServerCore) -> any Session {
        ClassicSession(handover, core, listener)
    }
}

/// Where clients of one classic framing come in, and what they may do there: they can show nothing, so all who reach it are
/// one client with its own folder, quota and files.
package struct ClassicListener: Sendable {
    package let framing: ClassicFraming

    package let endpoint: Endpoint

    package let options: AccessOptions

    /// Names in the lists of keys and tokens under which clients may come that cannot show any: for framings with names.
    package let people: [String]

    package init(
        _ framing: ClassicFraming, on endpoint: Endpoint, _ options: AccessOptions, people: [String] = []
    ) {
        (self.framing, self.endpoint, self.options, self.people) = (framing, endpoint, options, people)
    }

    /// What its clients are called in logs and receipts, and whom their files belong to, also under a later server.
    package var name: String { "\(framing.name) \(endpoint)" }

    /// What a supervisor calls it.
    package var mark: Int32 { ListenerUse.mark(of: name) }

    var grant: Grant { Grant(.listener(name), name: name, options: options) }
}

/// The session of a client that speaks a classic framing, on the loop of its connection. Parses on the loop; what is to be
/// stored goes to the pool in batches. Answers leave in the order of the uploads, each when its upload has its result.
actor ClassicSession {
    /// Uploads that may wait for their results. A client that sends more of them is not read; each is a name and some numbers.
    private static let mostUnanswered = 4096

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let intake: Intake
    nonisolated let transport: Transport
    nonisolated let observability: Observability
    let number: Int
    let origin: PeerOrigin
    let worker: ClassicWorker
    /// Who pays for its work on the pool.
    private let accountHolder: AccountHolder
    let account: PoolAccount
    nonisolated let progress: ConnectionProgress
    let driver: ConnectionDriver
    let settings: ServerSettings
    var outbound = Outbound<ContentChunk>()
    var counted = 0
    var pipe: BatchPipe<ClassicBatch>
    var conversation: any ClassicConversation
    var answers = ClassicAnswers()
    /// For the client, when all that was received is parsed: thousands of signs of life must not cost a call each.
    private var replies: [UInt8] = []
    private var parsingCost = 0
    /// Of a client that has a name and a mailbox; nothing in framings that know neither.
    var chat: ChatState?
    let bell = MailBell()
    let names: ChatNames
    /// Whether the content of an upload is coming.
    private(set) var isReceiving = false
    private(set) var isDraining = false
    private(set) var ending: SessionEnding?
    /// What the client did wrong, in the words of its framing.
    private(set) var fault: ClassicFault?

    var peer: String { origin.name }

    init(_ handover: Handover, _ core: ServerCore, _ listener: ClassicListener) {
        (number, origin, loop) = (handover.number, handover.origin, handover.loop)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        (driver, progress, settings) = (handover.driver, handover.progress, handover.settings)
        accountHolder = AccountHolder(origin)
        account = transport.accounts.enter(accountHolder)
        conversation = listener.framing.conversation()
        names = core.chatNames
        let scope = Result { () throws(Refusal) in
            try UploadScope(listener.grant.source, secret: core.transport.uploadSecret)
        }
        let guests = ChatGuests(listener, try? scope.get(), peer: origin.name, core.intake.mailroom)
        chat = guests.map(ChatState.init)
        worker = ClassicWorker(
            WorkerResources(core), connection: number, peer: origin.name, progress: progress,
            hasDigests: conversation.hasDigests, guests: guests)
        pipe = BatchPipe(received: handover.received)
        ending = handover.refusal.map { .fault($0) }
        (worker.uploads.account, worker.uploads.intake.accountHolder) = (account, accountHolder)
        if let end = driver.socket?.peerEnd {
            worker.uploads.intake.sender = Sender(connection: number) { end.hasCome }
        }
        do throws(Refusal) {
            worker.uploads.intake.caller = Caller(listener.grant, try scope.get(), peer: origin.name)
        } catch {
            ending = ending ?? .refused(error)
        }
    }

    func run() async {
        greet()
        let writer = Task(executorPreference: loop) { await self.writeLoop() }
        await readLoop()
        await finish()
        transport.accounts.leave(accountHolder)
        await writer.value
    }

    /// Nobody introduces himself here. So a client that has said nothing yet may be idle, as one between two uploads may, and
    /// is still the first to go where a place is needed.
    private func greet() {
        driver.liveness.timeouts.handshake = settings.timeouts.idle
        driver.liveness.timeouts.heartbeat = max(settings.timeouts.idle, settings.timeouts.silence)
        if chat != nil { expectHeartbeats() }
        driver.liveness.established(now: .now)
        expectContent(false)
    }

    func drain() {
        isDraining = true
        endIfDrained()
    }

    func stop() {
        worker.isEnding.store(true, ordering: .relaxed)
        end(.shutdown)
    }

    func evict(for fault: ProtocolFault) {
        end(.fault(fault))
        close()
    }

    func end(_ reason: SessionEnding) {
        guard ending == nil else { return }
        ending = reason
        driver.wake.fire()
    }

    func endIfDrained() {
        guard ending == nil, isDraining, !isReceiving, answers.count == 0, pipe.isDrained, outbound.isEmpty,
            chat?.isAtRest ?? true
        else { return }
        end(.shutdown)
    }

    /// Silence inside an upload is a fault; between uploads it is not.
    private func expectContent(_ isExpected: Bool, isSized: Bool = false) {
        isReceiving = isExpected
        let mayBeSilent = !isExpected && chat == nil
        driver.liveness.timeouts.silence = mayBeSilent ? settings.timeouts.idle : settings.timeouts.silence
        driver.liveness.active(now: .now)
        driver.liveness.expectRate(isExpected && isSized, now: .now)
        armTimer()
    }
}

// MARK: Reading

extension ClassicSession: ServedSession {
    var isEnding: Bool { ending != nil }

    var mostReceived: Int { .max }

    /// Uploads without an answer count as much as answers that nobody takes.
    var takesAnswers: Bool {
        answers.count < Self.mostUnanswered && (chat?.takesSentences ?? hasRoomForAnswers)
    }

    var isUndecided: Bool { false }

    func decide() {}

    /// The framings have no sign of life that a server could send at any time. Who takes nothing for as long as this is not
    /// worth waiting for.
    func sendPing() {
        if chat != nil, !outbound.isEmpty { end(.fault(.takesNothing)) }
    }

    /// Silence between uploads is no fault, and most framings would take an answer to it for one to the next upload.
    func broke(_ fault: ProtocolFault) {
        end(fault.code == .timedOut && !isOwing ? .lost(fault.message) : .fault(fault))
    }

    /// Whether the client is in the middle of an upload, or waits for an answer to one.
    var isOwing: Bool { isReceiving || answers.count > 0 }

    func lost(_ reason: String) { end(.lost(reason)) }

    func ended() {
        let isBetweenUploads = !isReceiving && conversation.isBetweenMessages && pipe.isParsed
        end(isBetweenUploads ? .done : .lost("the client closed the connection"))
    }

    func parsed() {
        say(replies)
        replies = []
        tellWorker()
        endIfDrained()
    }

    func answersTaken() {
        if chat != nil { handOn() }
        endIfDrained()
    }

    func step(_ batch: ClassicBatch) throws(ProtocolFault) -> FoundStep {
        let progress = try next(batch)
        note(cost(of: progress.step), in: batch)
        switch progress.step {
        case .needsMore: return .needsMore
        case .nothing: break
        case .present(let name): try heard(name, in: batch)
        case .begin(let upload):
            if let sender = upload.sender { try introduce(sender, in: batch) }
            begin(upload, batch)
        case .content(let range): batch.append(content: range)
        case .decoded(let bytes): batch.append(.decoded(bytes))
        case .end(let end):
            batch.append(.end(end))
            expectContent(false)
        case .abort:
            batch.append(.abort)
            expectContent(false)
        case .reply(let bytes): replies += bytes
        case .close: end(.done)
        }
        batch.consumed(progress.consumed)
        return ending == nil ? .step : .lastStep
    }

    /// From the moment on when nobody can connect any more, though this session may hear of that a little later.
    private var isStopping: Bool { isDraining || intake.isStopping.load(ordering: .relaxed) }

    private func next(_ batch: ClassicBatch) throws(ProtocolFault) -> ClassicProgress {
        do throws(ClassicFault) {
            return try conversation.next(batch.unparsed.bytes)
        } catch {
            throw broken(error)
        }
    }

    /// - Returns: the same, as what is thrown.
    func broken(_ fault: ClassicFault) -> ProtocolFault {
        self.fault = fault
        return ProtocolFault(fault.code, fault.message)
    }

    /// Bytes that could be received for as much work. A message of some bytes can be 16 KiB of JSON when it is inflated, and one
    /// with content, or that is skipped, 128 KiB; none of it takes longer to read than a string of that length.
    private func cost(of step: ClassicStep) -> Int {
        switch step {
        case .needsMore, .content: 0
        case .begin, .end, .abort, .close: 2 << 10
        case .decoded, .nothing, .present, .reply: 16 << 10
        }
    }

    private func note(_ cost: Int, in batch: ClassicBatch) {
        batch.cost += cost
        parsingCost += cost
    }

    func takeParsingCost() -> Int {
        defer { parsingCost = 0 }
        return parsingCost
    }

    private func begin(_ upload: ClassicUpload, _ batch: ClassicBatch) {
        if !progress.present.isEstablished { establish(as: nil) }
        let refusal = isStopping ? Failure.serverStopping : upload.nameFault
        batch.append(.begin(BegunUpload(upload: upload, place: answers.began(upload), refusal: refusal)))
        expectContent(true, isSized: upload.size != nil)
    }

    /// - Parameter client: what it is called.
    func establish(as client: String?) {
        progress.established(client: client)
        transport.limits.withLock { $0.establish(number) }
    }
}

// MARK: Storing

extension ClassicSession {
    /// Tells the worker whether another batch will follow the one that it works on.
    private func tellWorker() {
        worker.hasMore.store(pipe.hasMore, ordering: .releasing)
    }

    private func takeBatches() -> [ClassicBatch] {
        defer { tellWorker() }
        return pipe.take()
    }

    func work() async {
        let outcome = await transport.pool.run(for: account) { [worker, batches = takeBatches()] in
            worker.process(batches)
        }
        driver.liveness.active(now: .now)
        if let signIn = outcome.signIn { signedIn(signIn) }
        answer(outcome)
        pipe.worked(leaving: outcome.left)
    }

    func rested() { endIfDrained() }

    func answer(_ outcome: ClassicOutcome) {
        for (place, result) in outcome.results { answers.settled(place, result) }
        var bytes: [UInt8] = []
        for (upload, result) in answers.take() { bytes += conversation.answer(to: upload, result) }
        say(bytes)
    }
}

/// The last words of a session.
extension ClassicSession {
    /// Stores what was received whole, says the last words, and closes.
    func finish() async {
        await finishWork()
        await endHandingOn()
        answer(await transport.pool.run(for: account) { [worker] in worker.cancel() })
        stopTimer()
        sayGoodbye()
        await linger()
        close()
    }

    /// Says why there is no more: about what the client did wrong, or else as the answer to each upload that has none.
    private func giveUp(_ fault: ProtocolFault) {
        // It would be taken for a part of the message.
        guard chat?.isInMessage != true else { return }
        let rest = self.fault == nil ? answers.takeRest() : []
        guard !rest.isEmpty else {
            return send(conversation.answer(to: self.fault ?? ClassicFault(fault.code, fault.message)))
        }
        let result = ClassicResult(fault.code, message: fault.message)
        send(rest.flatMap { conversation.answer(to: $0, result) })
    }

    private func sayGoodbye() {
        switch ending {
        case .fault(let fault):
            observability.log.write([.refused(peer: peer, fault)])
            giveUp(fault)
        case .refused(let refusal):
            observability.log.write([.notAdmitted(peer: peer, refusal)])
            giveUp(ProtocolFault(refusal.code, refusal.message))
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            if isOwing { giveUp(ProtocolFault(.shuttingDown, "The server is stopping.")) }
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}
