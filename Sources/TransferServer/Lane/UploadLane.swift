import Synchronization
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferIO
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
final class UploadLane: @unchecked Sendable {
    private enum State {
        case idle
        case receiving(Receiving)
        /// The upload has its result already; the rest of it is ignored.
        case rejected
    }

    /// The push that the connection is part of, as its client named it; set before the first batch.
    var run: UInt64?

    /// Set before the first batch.
    var sender: Sender?

    /// Who pays for its work; set before the first batch.
    var account: PoolAccount?

    /// Who that is; set with it.
    var owner = ClientAccounts.Owner.thisMachine

    /// Whose uploads these are; set before the first batch, and renewed with every one.
    var client: ClientView

    let context: ServerContext
    let connection: Int
    let peer: String
    let inflation = Inflation()
    private var digesters: [DigestFunction: ContentDigester] = [:]
    /// Of the uploads that parts of came here.
    private var assemblies: [UploadID: Assembly] = [:]
    private var state = State.idle
    /// Batches that are not worked through, and which step of the first one is next.
    private var pending: [LaneBatch] = []
    private var nextStep = 0
    /// What the client has asked and nobody has answered whole.
    var question: OpenQuestion?
    let early: EarlyFrames
    var ready: [(receiving: Receiving, publication: Publication)] = []
    /// Published, and without a result so far.
    var published: [PublishedUpload] = []
    /// Bytes of content in them, each counted up to a limit.
    var unsignedBytes: UInt64 = 0
    /// Whether a publication ended since it was last asked for.
    var hasCompleted = false
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
    /// There where the client wants receipts and the server gives them.
    private(set) var issuer: ReceiptIssuer?
    /// Receipts that were made again last: who repeats one upload repeats others of its batch.
    var repeated: ReceiptBatch?

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// Uploads in parts that one connection may have under way: each holds a descriptor and a file.
    private static let mostAssemblies = 64

    /// - Parameters:
    ///   - connection: its number; they grow.
    ///   - early: takes what cannot wait for the end of a batch.
    ///   - progress: is told what the lane does.
    init(
        context: ServerContext, connection: Int, peer: String, early: EarlyFrames, progress: ConnectionProgress
    ) {
        meter = LaneMeter(progress)
        self.context = context
        self.early = early
        self.connection = connection
        self.peer = peer
        client = ClientView(peer: peer)
    }

    /// The client wants a receipt with every acknowledgement. To be called before the first batch.
    func giveReceipts() {
        issuer = context.issuer
    }

    /// Works on batches until all is done or others have to have their turn; `isBusy` says that there is more.
    func process(_ batches: [LaneBatch]) -> LaneOutcome {
        pending += batches
        if pending.contains(where: \.hasBeginnings) || mayBeEndless { askForAccess() }
        work()
        outcome.isBusy = isBusy
        // What is complete is made durable at once for all of it, and does not wait for an answer that takes long.
        if pending.isEmpty || question != nil { publish() }
        acknowledge(unless: mayWait)
        report()
        if case .receiving(let receiving) = state { meter.publish(receiving) } else { meter.publish(nil) }
        context.log.write(events)
        events.removeAll(keepingCapacity: true)
        defer { outcome = LaneOutcome() }
        outcome.isWaiting = !published.isEmpty
        return outcome
    }

    private var isBusy: Bool { question != nil || !pending.isEmpty }

    private func work() {
        let turn = Turn(on: context.pool)
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
    func cancel() {
        defer { leaveAssemblies() }
        question = nil
        acknowledge()
        if let repeated = failures.repeated { context.log.write([.moreFailed(repeated, peer: peer)]) }
        guard case .receiving(let receiving) = state else { return }
        receiving.discard(keepingBlocks: true)
        state = .idle
        context.log.write([.lost(receiving, peer: peer)])
    }

    /// Whether an upload is under way that nobody knows the end of, and its access was not asked for lately.
    private var mayBeEndless: Bool {
        guard case .receiving(let receiving) = state, receiving.begin.size == nil else { return false }
        return !isAccessFresh
    }

    /// Asks what the client may do now. What has begun may be finished, but not go on for ever.
    private func askForAccess() {
        outcome.refusal = recheck()
        guard let refusal = outcome.refusal, case .receiving(let receiving) = state, receiving.begin.size == nil else {
            return
        }
        reject(receiving, StoreError(refusal.code, refusal.message))
    }

    private func perform(_ operation: LaneBatch.Operation, _ batch: LaneBatch) {
        switch (operation, state) {
        case (.begin(let begin), _): start(client.inner(begin))
        case (.resume(let begin), _): resume(client.inner(begin))
        case (.lookup(let lookup), _): answer(lookup)
        case (.data(let piece), .receiving(let receiving)):
            let before = receiving.size
            attempt(receiving) { () throws(StoreError) in try receiving.take(piece, batch.bytes(piece)) }
            meter.took(receiving.size - min(before, receiving.size))
        case (.block(let block), .receiving(let receiving)):
            attempt(receiving) { () throws(StoreError) in try receiving.check(block) }
        case (.end(let end), .receiving(let receiving)):
            attempt(receiving) { () throws(StoreError) in try finish(receiving, end) }
            state = .idle
            if ready.count >= context.configuration.filesAtOnce { publish() }
        case (.abort, .receiving(let receiving)):
            takeBack(receiving)
            state = .idle
        case (.end, _), (.abort, _): state = .idle
        case (.data, _), (.block, _): break
        }
    }

    private func attempt(_ receiving: Receiving, _ body: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            try body()
        } catch {
            reject(receiving, error)
        }
    }

    func receiving(_ begin: Begin) -> Receiving {
        Receiving(
            begin, started: monotonicNanoseconds(), context: context, connection: connection, run: run, client: client,
            digester: digester(begin.digest), inflation: inflation)
    }

    private func start(_ begin: Begin) {
        let receiving = receiving(begin)
        state = .receiving(receiving)
        attempt(receiving) { () throws(StoreError) in
            try authorize(receiving)
            try refuseIfStopping(receiving.begin)
            let path = try receiving.checkDeclaration()
            receiving.assembly = try assembly(receiving.begin)
            try admit(receiving, path)
        }
    }

    /// Of uploads in parts a server that has to go takes what belongs to one that it works on.
    private func refuseIfStopping(_ begin: Begin) throws(StoreError) {
        guard context.isStopping.load(ordering: .relaxed) else { return }
        let upload: UploadID
        switch begin.scope {
        // The session has refused those that came too late.
        case .whole: return
        case .part(let part): upload = part.upload
        case .assembly: upload = begin.id
        }
        if context.assemblies[upload] == nil { throw .serverStopping }
    }

    private func admit(_ receiving: Receiving, _ path: RelativePath) throws(StoreError) {
        if let result = try receiving.admit(path) {
            settle(receiving, withReceipt(result, receiving))
            state = .rejected
            return
        }
        if receiving.begin.expectsAccept { send(.accept(client.outer(receiving.begin.id))) }
        if receiving.opensLongUpload { events.append(.begun(receiving, peer: peer, isQuiet: failures.isLong)) }
    }

    private func finish(_ receiving: Receiving, _ end: End) throws(StoreError) {
        switch try receiving.finish(end) {
        case .publish(var publication):
            publication.sender = sender
            ready.append((receiving, publication))
        case .staged(let result): settle(receiving, result)
        case .known(let result): settle(receiving, withReceipt(result, receiving))
        }
    }

    func reject(_ receiving: Receiving, _ error: StoreError) {
        receiving.discard()
        state = .rejected
        settle(receiving, UploadResult(error, receiving.begin.id, size: receiving.size))
    }

    func settle(_ receiving: Receiving, _ result: UploadResult) {
        let outer = client.outer(result)
        send(.result(outer))
        outcome.settled.append(outer.id)
        if receiving.assembly?.isFinished ?? false { outcome.hasEndedAssembly = true }
        guard result.code != .staged else { return }
        if result.code.isSuccess { meter.stored() }
        let isRepeated = !result.code.isSuccess && failures.add(result.code) > 1
        events.append(.settled(receiving, result, peer: peer, isRepeated: isRepeated))
    }

    /// Tells the client how far a long upload has come.
    private func report() {
        guard case .receiving(let receiving) = state, receiving.isLong else { return }
        let now = monotonicNanoseconds()
        guard now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        send(.received(Received(id: client.outer(receiving.begin.id), bytes: receiving.size)))
    }

    func send(_ message: Message) {
        message.encode(into: &outcome.frames)
    }

    /// What a part belongs to, or an assembly's end is about; nothing for whole uploads and ids that aren't known.
    private func assembly(_ begin: Begin) throws(StoreError) -> Assembly? {
        switch begin.scope {
        case .whole: return nil
        case .assembly: return context.assemblies[begin.id]
        case .part(let part):
            return try enter(part.upload, total: part.total, begin)
        }
    }

    /// Whether the connection has worked on the upload, and it goes on.
    func hasEntered(_ id: UploadID) -> Bool { assemblies[id].map { !$0.isFinished } ?? false }

    /// Whether an upload that parts of came here, or over another connection of its push, is neither complete nor given
    /// up: the next part may be on its way. Not to be asked while a thread is in the lane.
    var hasUnfinished: Bool {
        if assemblies.values.contains(where: { !$0.isFinished }) { return true }
        return run.map { context.assemblies.areUnfinished(of: $0) } ?? false
    }

    /// - Parameter begin: of a part, or a question about the whole.
    func enter(_ id: UploadID, total: UInt64?, _ begin: Begin) throws(StoreError) -> Assembly {
        let function = begin.digest
        if let known = assemblies[id], !known.isFinished {
            try known.check(total: total, function)
            return known
        }
        dropFinished()
        guard assemblies.count < Self.mostAssemblies else {
            throw StoreError(.busy, "Too many uploads in parts are unfinished on this connection.")
        }
        let assembly = try context.assemblies.enter(id, total: total, function, owner: owner)
        assemblies[id] = assembly
        noteUnfinished(id, total: total, begin)
        return assembly
    }

    /// Lets the catalog say that the upload is unfinished. Nobody waits for that.
    private func noteUnfinished(_ id: UploadID, total: UInt64?, _ begin: Begin) {
        let entry = CatalogEntry(
            id: id, state: .unfinished, path: begin.path, kind: begin.kind, size: total ?? 0, sender: client.sender,
            client: client.id, begun: utcNanoseconds(), run: run)
        guard context.known.begin(entry) else { return }
        context.pool.submit(for: account) { [known = context.known] in known.recordUnfinished() }
    }

    private func dropFinished() {
        assemblies = assemblies.filter { !$0.value.isFinished }
    }

    private func leaveAssemblies() {
        let now = monotonicNanoseconds()
        for assembly in assemblies.values { context.assemblies.leave(assembly, now: now) }
        assemblies = [:]
    }

    func digester(_ function: DigestFunction) -> ContentDigester {
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return digester
    }
}
