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

    private let context: ServerContext
    private let connection: Int
    private let peer: String
    private let inflation = Inflation()
    private var digesters: [DigestFunction: ContentDigester] = [:]
    /// Of the uploads that parts of came here.
    private var assemblies: [UploadID: Assembly] = [:]
    private var state = State.idle
    private var ready: [(receiving: Receiving, publication: Publication)] = []
    private var outcome = LaneOutcome()
    private var events: [LogEvent] = []
    private var lastReport: Int64 = 0
    /// There where the client wants receipts and the server gives them.
    private var issuer: ReceiptIssuer?

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// Uploads in parts that one connection may have under way: each holds a descriptor and a file.
    private static let mostAssemblies = 64

    /// - Parameter connection: its number; they grow.
    init(context: ServerContext, connection: Int, peer: String) {
        self.context = context
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
        guard case .receiving(let receiving) = state else { return }
        receiving.discard()
        state = .idle
        context.log.write([.lost(receiving, peer: peer)])
    }

    private func perform(_ operation: LaneBatch.Operation, _ batch: LaneBatch) {
        switch (operation, state) {
        case (.begin(let begin), _): start(begin)
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
            begin, started: monotonicNanoseconds(), context: context, connection: connection,
            wantsReceipt: issuer != nil, digester: digester(begin.digest), inflation: inflation)
        state = .receiving(receiving)
        attempt(receiving) { () throws(StoreError) in
            receiving.assembly = try assembly(begin)
            try admit(receiving)
        }
    }

    private func admit(_ receiving: Receiving) throws(StoreError) {
        if let result = try receiving.admit() {
            settle(receiving, result)
            state = .rejected
            return
        }
        if receiving.begin.expectsAccept { Message.accept(receiving.begin.id).encode(into: &outcome.frames) }
        if receiving.opensLongUpload { events.append(.begun(receiving, peer: peer)) }
    }

    private func finish(_ receiving: Receiving, _ end: End) throws(StoreError) {
        switch try receiving.finish(end) {
        case .publish(let publication): ready.append((receiving, publication))
        case .staged(let result), .known(let result): settle(receiving, result)
        }
    }

    /// Publishes what the batch completed: one sync pass for all of it.
    private func publish() {
        guard !ready.isEmpty else { return }
        let outcomes = context.store.publish(ready.map(\.publication))
        var results = zip(ready, outcomes).map { result(of: $0.publication, $1) }
        issuer?.addReceipts(to: &results, of: ready, sender: peer)
        for ((receiving, publication), result) in zip(ready, results) {
            if result.isAcknowledgement {
                context.recent.add(result, path: result.storedPath ?? publication.path.string)
            }
            settle(receiving, result)
        }
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

    private func reject(_ receiving: Receiving, _ error: StoreError) {
        receiving.discard()
        state = .rejected
        settle(receiving, UploadResult(error, receiving.begin.id, size: receiving.size))
    }

    private func settle(_ receiving: Receiving, _ result: UploadResult) {
        Message.result(result).encode(into: &outcome.frames)
        outcome.settled.append(result.id)
        if result.code != .staged { events.append(.settled(receiving, result, peer: peer)) }
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
            if let known = assemblies[part.upload], !known.isFinished {
                try known.check(part, begin.digest)
                return known
            }
            dropFinished()
            guard assemblies.count < Self.mostAssemblies else {
                throw StoreError(.busy, "Too many uploads in parts are unfinished on this connection.")
            }
            let assembly = try context.assemblies.enter(part, begin.digest)
            assemblies[part.upload] = assembly
            return assembly
        }
    }

    private func dropFinished() {
        assemblies = assemblies.filter { !$0.value.isFinished }
    }

    private func leaveAssemblies() {
        let now = monotonicNanoseconds()
        for assembly in assemblies.values { context.assemblies.leave(assembly, now: now) }
        assemblies = [:]
    }

    private func digester(_ function: DigestFunction) -> ContentDigester {
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return digester
    }
}

extension UploadResult {
    init(_ error: StoreError, _ id: UploadID, size: UInt64) {
        self.init(
            id: id, code: error.code, size: size, message: error.message,
            retryAfter: error.code == .busy ? 1000 : nil)
    }

    /// - Parameter isDurable: whether what the store holds is.
    init(_ published: Published, _ publication: Publication, isDurable: Bool) {
        let (code, path): (ResultCode, RelativePath?) =
            switch published {
            case .committed(let path): (.committed, path)
            case .alreadyStored(let path): (.alreadyStored, path)
            case .skipped: (.skipped, nil)
            }
        self.init(
            id: publication.id, code: code, isDurable: isDurable && path != nil, size: publication.size,
            digest: path == nil ? nil : publication.digest,
            storedPath: path == publication.path ? nil : path?.string)
    }
}
