import Synchronization
package import TransferAccess
package import TransferConnection
import TransferIO
package import TransferIntake
package import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Performs the steps of the binary protocol: uploads, and the questions that precede them. Results and answers become frames.
///
/// Used by one thread at a time, by its `UploadWorker`.
package final class BinarySteps: StepPerformer {
    package typealias Batch = BinaryBatch

    package let uploads: ConnectionUploads

    private let early: EarlyAnswers
    private let expansion = DataExpansion()
    /// The client's question that is not completely answered yet.
    private var question: OpenQuestion?
    /// Bytes of content taken since the session began to end early.
    private var late: UInt64 = 0
    private var outcome = WorkerOutcome()
    private var lastReport: Int64 = 0
    /// Bytes of frames made in this turn, including those that were sent early.
    private var made = 0

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// Bytes of content that are still taken when the session ends early: a few times what can wait in buffers. Compressed content and
    /// holes can be many times larger than their frames, and no client waits for them.
    static let mostLate: UInt64 = 16 << 20

    /// - Parameter early: takes frames that cannot wait for the end of a batch.
    package init(_ uploads: ConnectionUploads, _ early: EarlyAnswers) {
        (self.uploads, self.early) = (uploads, early)
    }

    private var intake: IntakeSession { uploads.intake }

    private var isAbandoned: Bool { uploads.isAbandoned.load(ordering: .relaxed) }

    package var isAnswering: Bool { question != nil }

    /// Bytes of frames that end a turn: the client has to take them first.
    static let mostMade = 256 << 10

    package var hasRoom: Bool { made < Self.mostMade }

    /// Whether the session ends early and has taken more than `mostLate` bytes of content since.
    package var isOver: Bool { late > Self.mostLate }

    package func perform(_ step: BinaryBatch.Operation, _ content: UnsafeRawBufferPointer) {
        switch step {
        case .begin(let begin): start(begin)
        case .resume(let begin): resume(begin)
        // When the session ends early, lookups are not answered: a client that has taken no answers can have sent many of them.
        case .lookup(let lookup): question = isAbandoned ? nil : answer(lookup).map { .lookup($0) }
        case .data(let piece):
            settled(uploads.write { (upload) throws(Failure) in try take(piece, content, upload) })
        case .block(let block):
            settled(uploads.write { (upload) throws(Failure) in try upload.check(block.index, block.digest) })
        case .end(let end): settled(uploads.finish(DeclaredEnd(size: end.size, digest: end.digest)))
        case .abort: settled(uploads.abort())
        }
    }

    private func start(_ begin: Begin) {
        if let refused = uploads.begin(UploadIntent(begin, of: intake.caller), mayEnd: begin.expectsAccept) {
            return settled(refused)
        }
        if begin.expectsAccept { send(.accept(begin.id)) }
        uploads.noteBeginning()
    }

    private func take(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer, _ upload: OpenUpload
    ) throws(Failure) {
        try expansion.expand(piece, bytes, fault: { Failure($0.code, $0.message) }) {
            (content, isHole) throws(Failure) in
            if isAbandoned { late = late.addingClamped(UInt64(content.count)) }
            try upload.write(content, isHole: isHole)
        }
    }

    package func settled(_ settled: EndedUpload) {
        let intent = settled.upload.intent
        let id = intake.caller.outer(intent.id)
        send(.result(UploadResult(settled.outcome, of: id, askedFor: intent.path, by: intake.caller)))
        outcome.settled.append(id)
        if settled.upload.hasEndedMultipart { outcome.hasEndedMultipart = true }
    }

    /// Sends the signature after the results that it signs.
    package func signed(_ batch: SignedBatch) { send(.receipts(batch)) }

    package func endTurn(leaving left: BatchPipe<BinaryBatch>.Left, refusal: Refusal?) -> WorkerOutcome {
        report()
        defer { (outcome, made) = (WorkerOutcome(), 0) }
        (outcome.left, outcome.refusal) = (left, refusal)
        return outcome
    }

    package func connectionEnded() { question = nil }

    /// Tells the client how many bytes of a long upload have arrived.
    private func report() {
        guard let upload = uploads.current, upload.isLong else { return }
        let now = monotonicNanoseconds()
        guard now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        send(.received(Received(id: intake.caller.outer(upload.intent.id), bytes: upload.size)))
    }

    private func send(_ message: Message) {
        let before = outcome.frames.count
        message.encode(into: &outcome.frames)
        made += outcome.frames.count - before
    }

    private func sendEarly(_ frames: [UInt8], settled: [UploadID] = []) {
        made += frames.count
        early.send(frames, settled: settled)
    }
}

/// Lookups: which uploads were acknowledged before, for a client that asks before it sends.
extension BinarySteps {
    /// Sends the answer early: the client may be waiting for it before it sends content.
    ///
    /// - Returns: the ids that are still to be answered: after the client has taken this answer, or after other clients have had their
    ///   turn, because files have to be read. Nil if none are left.
    private func answer(_ lookup: Lookup) -> Lookup? {
        let found = intake.lookup(
            lookup.ids.map(intake.caller.inner), lookup.digest, room: Self.mostMade - made)
        let ids = Array(lookup.ids.prefix(found.count))
        var unknown: [UploadID] = []
        var frames: [UInt8] = []
        for (id, acknowledgement) in zip(ids, found) {
            guard let acknowledgement else {
                unknown.append(id)
                continue
            }
            let outcome = UploadOutcome.acknowledged(acknowledgement)
            // The client has stated neither path nor kind, so the answer has both.
            var result = UploadResult(outcome, of: id, askedFor: nil, by: intake.caller)
            result.kind = acknowledgement.kind
            Message.result(result).encode(into: &frames)
        }
        let known = ids.count - unknown.count
        if known > 0 { uploads.events.append(.alreadyStored(known, peer: uploads.peer)) }
        if !unknown.isEmpty { Message.unknown(unknown).encode(into: &frames) }
        sendEarly(frames, settled: ids)
        guard !found.isEmpty, ids.count < lookup.ids.count else { return nil }
        return Lookup(Array(lookup.ids.dropFirst(ids.count)), digest: lookup.digest)
    }
}

/// A client's question while it is being answered.
enum OpenQuestion {
    /// Which blocks of an upload the server has.
    case presence(OpenQuery)

    /// Which uploads are acknowledged; the ids that are not answered yet.
    case lookup(Lookup)
}

/// A client's question which blocks of an upload the server has.
struct OpenQuery {
    fileprivate var query: PresenceQuery
    fileprivate var report: BlockReport

    /// The upload's ID as the client knows it.
    fileprivate let id: UploadID

    fileprivate init(_ query: PresenceQuery, _ id: UploadID) {
        (self.query, self.id) = (query, id)
        report = BlockReport(id, query.upload.intent.function)
    }
}

/// Resuming: which blocks of an upload the server has.
extension BinarySteps {
    /// Begins to answer with the blocks that the server has, then `accept`; or answers with a result.
    private func resume(_ begin: Begin) {
        switch intake.have(UploadIntent(begin, of: intake.caller)) {
        case .ended(let ended): settled(uploads.noted(ended))
        case .query(let query): question = .presence(OpenQuery(query, begin.id))
        }
    }

    /// Continues to answer the open question, a few blocks or files in each call, because other clients wait.
    package func goOnAnswering() {
        guard let open = question.take(), !isAbandoned else { return }
        switch open {
        case .presence(let open): goOn(with: open)
        case .lookup(let lookup):
            guard intake.sender?.isGone() != true else { return }
            question = answer(lookup).map { .lookup($0) }
        }
    }

    /// Uses all digest threads only if no other client waits, and stops after the first blocks if the client has gone.
    private func goOn(with open: OpenQuery) {
        var open = open
        do throws(Failure) {
            guard open.query.count == 0 || intake.sender?.isGone() != true else { return }
            let resources = uploads.resources
            let threads = resources.pool.isContended ? 1 : resources.digestThreads
            guard let blocks = try open.query.step(threads: threads) else { return end(open) }
            var frames: [UInt8] = []
            for block in blocks { open.report.add(block.index, block.digest, to: &frames) }
            open.report.finish(to: &frames)
            sendEarly(frames)
            question = .presence(open)
        } catch {
            settled(uploads.noted(EndedUpload(open.query.upload, .refused(error, size: 0))))
        }
    }

    private func end(_ open: OpenQuery) {
        let query = open.query
        if query.count > 0, query.isFirst {
            uploads.events.append(.resumed(query.upload.intent, blocks: query.count, peer: uploads.peer))
        }
        var frame: [UInt8] = []
        Message.accept(open.id).encode(into: &frame)
        sendEarly(frame, settled: [open.id])
    }
}

/// Makes `have` frames of blocks that are added in order.
struct BlockReport {
    private let id: UploadID
    private let function: DigestFunction
    private var first: UInt64 = 0
    private var digests: [Digest] = []

    init(_ id: UploadID, _ function: DigestFunction) {
        self.id = id
        self.function = function
    }

    mutating func add(_ index: UInt64, _ digest: [UInt8], to frames: inout [UInt8]) {
        if index != first + UInt64(digests.count) || digests.count == Have.mostBlocks { finish(to: &frames) }
        if digests.isEmpty { first = index }
        digests.append(Digest(function.plain, digest))
    }

    mutating func finish(to frames: inout [UInt8]) {
        guard !digests.isEmpty else { return }
        Message.have(Have(id: id, first: first, digests: digests)).encode(into: &frames)
        digests = []
    }
}

extension UploadIntent {
    /// The declarations of a `begin`, with the server's IDs.
    init(_ begin: Begin, of caller: Caller) {
        let extent: Extent =
            switch begin.scope {
            case .whole: .whole
            case .part(let part):
                .part(UploadPart(of: caller.inner(part.upload), offset: part.offset, total: part.total))
            case .multipart: .multipart
            }
        self.init(
            id: caller.inner(begin.id), path: begin.path, size: begin.size, kind: begin.kind, function: begin.digest,
            conflict: begin.conflict, modified: begin.modified, permissions: begin.permissions, extent: extent,
            recipients: begin.recipients?.names ?? [], note: begin.note)
        (keepsPermissions, attributes) = (begin.keepsPermissions, caller.allowed(begin.attributes))
        (filled, replaceable) = (begin.filled, begin.version)
    }
}

extension UploadResult {
    /// Milliseconds after which a client may repeat an upload for which the server had no room.
    private static let patience: UInt32 = 1000

    /// - Parameters:
    ///   - id: the upload's ID as the client knows it.
    ///   - path: the path in the server's directory that the client asked for; nil if it named none.
    init(_ outcome: UploadOutcome, of id: UploadID, askedFor path: String?, by caller: Caller) {
        let pause = outcome.retryAfter.map { UInt32(clamping: $0.nanoseconds / 1_000_000) } ?? Self.patience
        self.init(
            id: id, code: outcome.code, isDurable: outcome.isDurable, size: outcome.size, digest: outcome.digest,
            message: caller.redacted(outcome.message), retryAfter: outcome.code == .busy ? pause : nil)
        guard case .acknowledged(let acknowledgement) = outcome else { return }
        receipt = acknowledgement.receipt
        hasReplaced = acknowledgement.replaced == .other
        trash = acknowledgement.trash
        let isAsAsked = path.map { acknowledgement.path.string.hasSameBytes(as: $0) } ?? false
        storedPath = isAsAsked ? nil : caller.clientPath(acknowledgement.path)?.string
    }
}

extension Caller {
    /// The outcome of a request, with paths as the client knows them.
    func outer(_ outcome: Outcome) -> Outcome {
        var outcome = outcome
        outcome.message = redacted(outcome.message)
        return outcome
    }
}
