import Synchronization
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIO
package import TransferIntake
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferStore
import TransferSystem

/// The pool's side of one connection: takes batches in order, stores what they hold and publishes the uploads that
/// each batch completes together, so that they share their syncs.
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads are
/// ever in it.
package final class UploadLane: @unchecked Sendable {
    /// Who pays, for what is done later.
    private final class Payer: Sendable {
        let account = Locked<PoolAccount?>(nil)
    }

    private enum State {
        case idle
        case receiving(OpenUpload)
        /// The upload has its result already; the rest of it is ignored.
        case rejected
    }

    /// The client's way into the intake; who that is, is set before the first batch.
    package let intake: IntakeSession

    /// Who pays for its work; set before the first batch.
    var account: PoolAccount? {
        get { payer.account.withLock { $0 } }
        set { payer.account.withLock { $0 = newValue } }
    }

    let resources: LaneResources
    let peer: String
    private let inflation = Inflation()
    private let payer = Payer()
    private var state = State.idle
    /// Batches that are not worked through, and which step of the first one is next.
    private var pending: [LaneBatch] = []
    private var nextStep = 0
    /// What the client has asked and nobody has answered whole.
    var question: OpenQuestion?
    let early: EarlyAnswers
    /// Whether the session ends before its time, so that no question is read on for; set on its loop.
    let isEnding = Atomic(false)
    /// Whether the session has more for this lane already; set on its loop.
    let hasMore = Atomic(false)
    var outcome = LaneOutcome()
    var events: [LogEvent] = []
    private var failures = FailureTally()
    private var meter: LaneMeter
    private var lastReport: Int64 = 0
    /// When it was last asked what the client may do.
    var accessAsked: Int64 = 0

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// - Parameters:
    ///   - connection: its number; they grow.
    ///   - early: takes what cannot wait for the end of a batch.
    ///   - progress: is told what the lane does.
    package init(
        _ resources: LaneResources, connection: Int, peer: String, early: EarlyAnswers, progress: ConnectionProgress
    ) {
        meter = LaneMeter(progress)
        self.resources = resources
        self.early = early
        self.peer = peer
        let way = IntakeSession.Connection(number: connection) { [later = resources.later, payer] work in
            later(payer.account.withLock { $0 }, work)
        }
        intake = IntakeSession(resources.intake, way, caller: Caller(peer: peer))
    }

    /// Works on batches until all is done or others have to have their turn; `isBusy` says that there is more.
    package func process(_ batches: [LaneBatch]) -> LaneOutcome {
        pending += batches
        if pending.contains(where: \.hasBeginnings) || mayBeEndless { askForAccess() }
        work()
        outcome.isBusy = isBusy
        // What is complete is made durable at once for all of it, and does not wait for an answer that takes long.
        if pending.isEmpty || question != nil { publish() }
        if !intake.completion.mayWait(moreFollows: outcome.isBusy || hasMore.load(ordering: .acquiring)) {
            acknowledge()
        }
        report()
        if case .receiving(let upload) = state { meter.publish(upload) } else { meter.publish(nil) }
        resources.log.write(events)
        events.removeAll(keepingCapacity: true)
        defer { outcome = LaneOutcome() }
        outcome.isWaiting = intake.completion.isWaiting
        return outcome
    }

    private var isBusy: Bool { question != nil || !pending.isEmpty }

    private func work() {
        let turn = Turn(on: resources.pool)
        while isBusy, !turn.isOver {
            if question != nil {
                goOnAnswering()
            } else if let batch = pending.first {
                takeStep(of: batch)
            }
        }
    }

    private func takeStep(of batch: LaneBatch) {
        if nextStep < batch.operations.count {
            perform(batch.operations[nextStep], batch)
            nextStep += 1
        }
        guard nextStep >= batch.operations.count else { return }
        pending.removeFirst()
        nextStep = 0
    }

    /// The connection ended: what is not complete will not be.
    package func cancel() {
        defer { intake.leave() }
        question = nil
        acknowledge()
        if let repeated = failures.repeated { resources.log.write([.moreFailed(repeated, peer: peer)]) }
        guard case .receiving(let upload) = state else { return }
        upload.suspend()
        state = .idle
        resources.log.write([.lost(upload, peer: peer)])
    }

    /// Whether an upload is under way that nobody knows the end of, and its access was not asked for lately.
    private var mayBeEndless: Bool {
        guard case .receiving(let upload) = state, upload.intent.size == nil else { return false }
        return !isAccessFresh
    }

    /// Asks what the client may do now. What has begun may be finished, but not go on for ever.
    private func askForAccess() {
        outcome.refusal = recheck()
        intake.refusal = outcome.refusal
        guard let refusal = outcome.refusal, case .receiving(let upload) = state, upload.intent.size == nil else {
            return
        }
        reject(upload, StoreError(refusal.code, refusal.message))
    }

    private func perform(_ operation: LaneBatch.Operation, _ batch: LaneBatch) {
        switch (operation, state) {
        case (.begin(let begin), _): start(begin)
        case (.resume(let begin), _): resume(begin)
        case (.lookup(let lookup), _): answer(lookup)
        case (.data(let piece), .receiving(let upload)):
            let before = upload.size
            attempt(upload) { () throws(StoreError) in try take(piece, batch.bytes(piece), upload) }
            meter.took(upload.size - min(before, upload.size))
        case (.block(let block), .receiving(let upload)):
            attempt(upload) { () throws(StoreError) in try upload.check(block.index, block.digest) }
        case (.end(let end), .receiving(let upload)):
            attempt(upload) { () throws(StoreError) in
                let end = DeclaredEnd(size: end.size, digest: end.digest)
                if let outcome = try intake.seal(upload, end) { settle(upload, outcome) }
            }
            state = .idle
            if intake.hasMuchSealed { publish() }
        case (.abort, .receiving(let upload)):
            settle(upload, intake.discard(upload))
            state = .idle
        case (.end, _), (.abort, _): state = .idle
        case (.data, _), (.block, _): break
        }
    }

    private func attempt(_ upload: OpenUpload, _ body: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try body()
        } catch {
            reject(upload, error)
        }
    }

    private func take(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer, _ upload: OpenUpload
    ) throws(StoreError) {
        switch piece.encoding {
        case .stored: try upload.append(bytes)
        case .zlib: try inflation.inflate(piece, bytes) { (inflated) throws(StoreError) in try upload.append(inflated) }
        }
    }

    private func start(_ begin: Begin) {
        let begun = intake.begin(UploadIntent(begin, of: intake.caller), mayEnd: begin.expectsAccept)
        if let outcome = begun.outcome {
            settle(begun.upload, outcome)
            state = .rejected
            return
        }
        state = .receiving(begun.upload)
        if begin.expectsAccept { send(.accept(begin.id)) }
        if begun.upload.opensLongUpload {
            events.append(.begun(begun.upload, peer: peer, isQuiet: failures.isLong))
        }
    }

    private func reject(_ upload: OpenUpload, _ error: StoreError) {
        state = .rejected
        settle(upload, intake.refuse(upload, error))
    }

    func settle(_ upload: OpenUpload, _ result: UploadOutcome) {
        let id = intake.caller.outer(upload.intent.id)
        send(.result(UploadResult(result, of: id, askedFor: upload.intent.path, by: intake.caller)))
        outcome.settled.append(id)
        if upload.hasEndedAssembly { outcome.hasEndedAssembly = true }
        guard result.code != .staged else { return }
        if result.code.isSuccess { meter.stored() }
        let isRepeated = !result.code.isSuccess && failures.add(result.code) > 1
        events.append(
            .settled(
                result, upload.intent.id, path: result.path?.string ?? upload.intent.path, began: upload.began,
                peer: peer, isRepeated: isRepeated))
    }

    /// Tells the client how far a long upload has come.
    private func report() {
        guard case .receiving(let upload) = state, upload.isLong else { return }
        let now = monotonicNanoseconds()
        guard now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        send(.received(Received(id: intake.caller.outer(upload.intent.id), bytes: upload.size)))
    }

    func send(_ message: Message) {
        message.encode(into: &outcome.frames)
    }

    /// Whether an upload in parts of this connection, or of another one of its push, is under way. Not to be asked while a
    /// thread is in the lane.
    var hasUnfinished: Bool { intake.hasUnfinished }
}

// MARK: The end

extension UploadLane {
    /// Publishes what the batch completed.
    private func publish() {
        let report = intake.publish()
        for upload in report.ended { settle(upload.upload, upload.outcome) }
        for path in report.healed { events.append(.healed(path, peer: peer)) }
    }

    /// Answers for all that is published; the seal of their receipts leaves behind their results.
    private func acknowledge() {
        let ended = intake.acknowledge()
        for upload in ended.uploads { settle(upload.upload, upload.outcome) }
        if let seal = ended.seal { Message.receipts(seal).encode(into: &outcome.frames) }
    }
}
