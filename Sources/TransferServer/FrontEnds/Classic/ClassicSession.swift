import Synchronization
import TransferAccess
import TransferClassic
import TransferConnection
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

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
    let lane: ClassicLane
    /// Who pays for its work on the pool.
    private let accountHolder: AccountHolder
    let account: PoolAccount
    nonisolated let progress: ConnectionProgress
    let driver: ConnectionDriver
    let settings: ServerSettings
    var outbound = Outbound<Never>()
    var counted = 0
    var pipe: BatchPipe<ClassicBatch>
    private var conversation: any ClassicConversation
    private var answers = ClassicAnswers()
    /// For the client, when all that was received is parsed: thousands of signs of life must not cost a call each.
    private var replies: [UInt8] = []
    private var parsingCost = 0
    /// Whether the content of an upload is coming.
    private var isReceiving = false
    private var isDraining = false
    private(set) var ending: SessionEnding?
    /// What the client did wrong, in the words of its framing.
    private var fault: ClassicFault?

    private var peer: String { origin.name }

    init(_ handover: Handover, _ core: ServerCore, _ listener: ClassicListener) {
        (number, origin, loop) = (handover.number, handover.origin, handover.loop)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        (driver, progress, settings) = (handover.driver, handover.progress, handover.settings)
        accountHolder = AccountHolder(origin)
        account = transport.accounts.enter(accountHolder)
        conversation = listener.framing.conversation()
        lane = ClassicLane(
            LaneResources(core), connection: number, peer: origin.name, progress: progress,
            hasDigests: conversation.hasDigests)
        pipe = BatchPipe(received: handover.received)
        ending = handover.refusal.map { .fault($0) }
        (lane.uploads.account, lane.uploads.intake.accountHolder) = (account, accountHolder)
        if let end = driver.socket?.peerEnd {
            lane.uploads.intake.sender = Sender(connection: number) { end.hasCome }
        }
        do throws(Refusal) {
            let scope = try UploadScope(listener.grant.source, secret: transport.uploadSecret)
            lane.uploads.intake.caller = Caller(listener.grant, scope, peer: origin.name)
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
        driver.liveness.established(now: .now)
        expectContent(false)
    }

    func drain() {
        isDraining = true
        endIfDrained()
    }

    func stop() {
        lane.isEnding.store(true, ordering: .relaxed)
        end(.shutdown)
    }

    func evict() {
        end(.fault(.tooManyHandshakes))
        close()
    }

    private func end(_ reason: SessionEnding) {
        guard ending == nil else { return }
        ending = reason
        driver.wake.fire()
    }

    private func endIfDrained() {
        guard ending == nil, isDraining, !isReceiving, answers.count == 0, pipe.isDrained, outbound.isEmpty else {
            return
        }
        end(.shutdown)
    }

    /// Silence inside an upload is a fault; between uploads it is not.
    private func expectContent(_ isExpected: Bool, isSized: Bool = false) {
        isReceiving = isExpected
        driver.liveness.timeouts.silence = isExpected ? settings.timeouts.silence : settings.timeouts.idle
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
    var takesAnswers: Bool { answers.count < Self.mostUnanswered && hasRoomForAnswers }

    var isUndecided: Bool { false }

    func decide() {}

    /// The framings have no sign of life that a server could send at any time.
    func sendPing() {}

    /// Silence between uploads is no fault, and most framings would take an answer to it for one to the next upload.
    func broke(_ fault: ProtocolFault) {
        end(fault.code == .timedOut && !isOwing ? .lost(fault.message) : .fault(fault))
    }

    /// Whether the client is in the middle of an upload, or waits for an answer to one.
    private var isOwing: Bool { isReceiving || answers.count > 0 }

    func lost(_ reason: String) { end(.lost(reason)) }

    func ended() {
        let isBetweenUploads = !isReceiving && conversation.isBetweenMessages && pipe.isParsed
        end(isBetweenUploads ? .done : .lost("the client closed the connection"))
    }

    func parsed() {
        send(replies)
        replies = []
        tellLane()
        endIfDrained()
    }

    func answersTaken() { endIfDrained() }

    func step(_ batch: ClassicBatch) throws(ProtocolFault) -> FoundStep {
        let progress = try next(batch)
        note(cost(of: progress.step), in: batch)
        switch progress.step {
        case .needsMore: return .needsMore
        case .nothing, .present: break
        case .begin(let upload): begin(upload, batch)
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
            fault = error
            throw ProtocolFault(error.code, error.message)
        }
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
        if !progress.present.isEstablished {
            progress.established(client: nil)
            transport.limits.withLock { $0.establish(number) }
        }
        let refusal = isStopping ? StoreError.serverStopping : upload.nameFault
        batch.append(.begin(BegunUpload(upload: upload, place: answers.began(upload), refusal: refusal)))
        expectContent(true, isSized: upload.size != nil)
    }
}

// MARK: Storing

extension ClassicSession {
    /// Tells the lane whether another batch will follow the one that it works on.
    private func tellLane() {
        lane.hasMore.store(pipe.hasMore, ordering: .releasing)
    }

    private func takeBatches() -> [ClassicBatch] {
        defer { tellLane() }
        return pipe.take()
    }

    func work() async {
        let outcome = await transport.pool.run(for: account) { [lane, batches = takeBatches()] in
            lane.process(batches)
        }
        driver.liveness.active(now: .now)
        answer(outcome)
        pipe.worked(leaving: outcome.left)
    }

    func rested() { endIfDrained() }

    private func answer(_ outcome: ClassicOutcome) {
        for (place, result) in outcome.results { answers.settled(place, result) }
        var bytes: [UInt8] = []
        for (upload, result) in answers.take() { bytes += conversation.answer(to: upload, result) }
        send(bytes)
    }
}

// MARK: Ending

extension ClassicSession {
    /// Stores what was received whole, says the last words, and closes.
    private func finish() async {
        await finishWork()
        answer(await transport.pool.run(for: account) { [lane] in lane.cancel() })
        stopTimer()
        sayGoodbye()
        await linger()
        close()
    }

    /// Says why there is no more: about what the client did wrong, or else as the answer to each upload that has none.
    private func giveUp(_ fault: ProtocolFault) {
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
            send(conversation.answer(to: ClassicFault(refusal.code, refusal.message)))
        case .shutdown:
            observability.log.write([.closed(peer: peer, reason: "the server is stopping")])
            if isOwing { giveUp(ProtocolFault(.shuttingDown, "The server is stopping.")) }
        case .lost(let reason): observability.log.write([.closed(peer: peer, reason: reason)])
        case .done, nil: observability.log.write([.closed(peer: peer, reason: "the client is done")])
        }
    }
}
