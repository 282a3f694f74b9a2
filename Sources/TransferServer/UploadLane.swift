import TransferCatalog
import TransferCodec
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

    let context: ServerContext
    let connection: Int
    let peer: String
    let inflation = Inflation()
    private var digesters: [DigestFunction: ContentDigester] = [:]
    /// Of the uploads that parts of came here.
    private var assemblies: [UploadID: Assembly] = [:]
    private var state = State.idle
    let early: EarlyFrames
    private var ready: [(receiving: Receiving, publication: Publication)] = []
    var outcome = LaneOutcome()
    var events: [LogEvent] = []
    private var failures = FailureTally()
    private var lastReport: Int64 = 0
    /// There where the client wants receipts and the server gives them.
    private var issuer: ReceiptIssuer?

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// Uploads in parts that one connection may have under way: each holds a descriptor and a file.
    private static let mostAssemblies = 64

    /// - Parameters:
    ///   - connection: its number; they grow.
    ///   - early: takes what cannot wait for the end of a batch.
    init(context: ServerContext, connection: Int, peer: String, early: EarlyFrames) {
        self.context = context
        self.early = early
        self.connection = connection
        self.peer = peer
    }

    /// The client wants a receipt with every acknowledgement. To be called before the first batch.
    func giveReceipts() {
        issuer = context.issuer
    }

    func process(_ batches: [LaneBatch]) -> LaneOutcome {
        for batch in batches {
            for operation in batch.operations { perform(operation, batch) }
        }
        publish()
        report()
        context.log.write(events)
        events.removeAll(keepingCapacity: true)
        defer { outcome = LaneOutcome() }
        return outcome
    }

    /// The connection ended: what is not complete will not be.
    func cancel() {
        defer { leaveAssemblies() }
        if let repeated = failures.repeated { context.log.write([.moreFailed(repeated, peer: peer)]) }
        guard case .receiving(let receiving) = state else { return }
        receiving.discard(keepingBlocks: true)
        state = .idle
        context.log.write([.lost(receiving, peer: peer)])
    }

    private func perform(_ operation: LaneBatch.Operation, _ batch: LaneBatch) {
        switch (operation, state) {
        case (.begin(let begin), _): start(begin)
        case (.resume(let begin), _): resume(begin)
        case (.data(let piece), .receiving(let receiving)):
            attempt(receiving) { () throws(StoreError) in try receiving.take(piece, batch.bytes(piece)) }
        case (.block(let block), .receiving(let receiving)):
            attempt(receiving) { () throws(StoreError) in try receiving.check(block) }
        case (.end(let end), .receiving(let receiving)):
            attempt(receiving) { () throws(StoreError) in try finish(receiving, end) }
            state = .idle
            if ready.count >= context.configuration.filesAtOnce { publish() }
        case (.abort, .receiving(let receiving)):
            reject(receiving, StoreError(.aborted, "The client took the upload back."))
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

    private func start(_ begin: Begin) {
        let receiving = Receiving(
            begin, started: monotonicNanoseconds(), context: context, connection: connection, run: run,
            digester: digester(begin.digest), inflation: inflation)
        state = .receiving(receiving)
        attempt(receiving) { () throws(StoreError) in
            receiving.assembly = try assembly(begin)
            try admit(receiving)
        }
    }

    private func admit(_ receiving: Receiving) throws(StoreError) {
        if let result = try receiving.admit() {
            settle(receiving, withReceipt(result, receiving))
            state = .rejected
            return
        }
        if receiving.begin.expectsAccept { Message.accept(receiving.begin.id).encode(into: &outcome.frames) }
        if receiving.opensLongUpload { events.append(.begun(receiving, peer: peer, isQuiet: failures.isLong)) }
    }

    private func finish(_ receiving: Receiving, _ end: End) throws(StoreError) {
        switch try receiving.finish(end) {
        case .publish(let publication): ready.append((receiving, publication))
        case .staged(let result): settle(receiving, result)
        case .known(let result): settle(receiving, withReceipt(result, receiving))
        }
    }

    /// Publishes what the batch completed: one sync pass for all of it, one transaction, and then the results.
    private func publish() {
        guard !ready.isEmpty else { return }
        let outcomes = context.store.publish(ready.map(\.publication))
        var results = zip(ready, outcomes).map { result(of: $0.publication, $1) }
        issuer?.addReceipts(to: &results, of: ready, sender: peer)
        record(outcomes, results)
        for ((receiving, _), result) in zip(ready, results) { settle(receiving, result) }
        for (receiving, _) in ready { if let assembly = receiving.assembly { context.assemblies.remove(assembly) } }
        ready.removeAll(keepingCapacity: true)
    }

    private func result(of publication: Publication, _ outcome: Result<Published, StoreError>) -> UploadResult {
        switch outcome {
        case .success(let published):
            UploadResult(published, publication, isDurable: context.store.durability == .commit)
        // Not `receiving.size`: by now the digester may count the bytes of a later upload.
        case .failure(let error): UploadResult(error, publication.id, size: publication.size)
        }
    }

    private func record(_ outcomes: [Result<Published, StoreError>], _ results: [UploadResult]) {
        let (now, utc) = (monotonicNanoseconds(), utcNanoseconds())
        let isDurable = context.store.durability == .commit
        var entries: [CatalogEntry] = []
        entries.reserveCapacity(ready.count)
        for (index, outcome) in outcomes.enumerated() {
            guard case .success(let published) = outcome else { continue }
            let (receiving, publication) = ready[index]
            let entry = CatalogEntry(
                published, publication, kind: receiving.begin.kind, isDurable: isDurable, sender: peer,
                begun: utc - (now - receiving.started), committed: utc, run: run)
            guard var entry else { continue }
            entry.receipt = results[index].receipt
            entries.append(entry)
        }
        context.known.record(entries)
    }

    private func reject(_ receiving: Receiving, _ error: StoreError) {
        receiving.discard()
        state = .rejected
        settle(receiving, UploadResult(error, receiving.begin.id, size: receiving.size))
    }

    /// For an acknowledgement that the upload has already: its receipt again, or one of now.
    func withReceipt(_ result: UploadResult, _ receiving: Receiving) -> UploadResult {
        var result = result
        if issuer == nil { result.receipt = nil }
        guard result.receipt == nil else { return result }
        issuer?.addReceipt(to: &result, path: receiving.begin.path, kind: receiving.begin.kind, sender: peer)
        return result
    }

    func settle(_ receiving: Receiving, _ result: UploadResult) {
        Message.result(result).encode(into: &outcome.frames)
        outcome.settled.append(result.id)
        guard result.code != .staged else { return }
        let isRepeated = !result.code.isSuccess && failures.add(result.code) > 1
        events.append(.settled(receiving, result, peer: peer, isRepeated: isRepeated))
    }

    /// Tells the client how far a long upload has come.
    private func report() {
        guard case .receiving(let receiving) = state, receiving.isLong else { return }
        let now = monotonicNanoseconds()
        guard now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        Message.received(Received(id: receiving.begin.id, bytes: receiving.size)).encode(into: &outcome.frames)
    }

    /// What a part belongs to, or an assembly's end is about; nothing for whole uploads and ids that aren't known.
    private func assembly(_ begin: Begin) throws(StoreError) -> Assembly? {
        switch begin.scope {
        case .whole: return nil
        case .assembly: return context.assemblies[begin.id]
        case .part(let part):
            return try enter(part.upload, total: part.total, begin.digest)
        }
    }

    /// Whether the connection has worked on the upload, and it goes on.
    func hasEntered(_ id: UploadID) -> Bool { assemblies[id].map { !$0.isFinished } ?? false }

    func enter(_ id: UploadID, total: UInt64?, _ function: DigestFunction) throws(StoreError) -> Assembly {
        if let known = assemblies[id], !known.isFinished {
            try known.check(total: total, function)
            return known
        }
        dropFinished()
        guard assemblies.count < Self.mostAssemblies else {
            throw StoreError(.busy, "Too many uploads in parts are unfinished on this connection.")
        }
        let assembly = try context.assemblies.enter(id, total: total, function)
        assemblies[id] = assembly
        return assembly
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
