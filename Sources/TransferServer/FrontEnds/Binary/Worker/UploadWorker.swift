import Synchronization
import TransferAccess
import TransferCatalog
import TransferConnection
import TransferIO
package import TransferIntake
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferStore
import TransferSystem

/// The pool's side of one connection: takes batches in order, makes calls of the frames that they hold, and publishes the
/// uploads that each batch completes together, so that they share their syncs.
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads are
/// ever in it.
package final class UploadWorker: @unchecked Sendable {
    /// What becomes of the client's uploads.
    package let uploads: ConnectionUploads

    package var intake: IntakeSession { uploads.intake }

    let resources: WorkerResources
    private let expansion = DataExpansion()
    /// Batches that are not worked through, and which step of the first one is next.
    private var pending: [FrameBatch] = []
    private var nextStep = 0
    /// What the client has asked and nobody has answered whole.
    var question: OpenQuestion?
    let early: EarlyAnswers
    /// Whether the session ends before its time, so that no question is read on for, and little else is worked on; set on its
    /// loop.
    let isEnding = Atomic(false)
    /// Bytes of content that were taken in since.
    private var late: UInt64 = 0
    /// Whether the session has more for this worker already; set on its loop.
    let hasMore = Atomic(false)
    var outcome = WorkerOutcome()
    private var lastReport: Int64 = 0

    /// Nanoseconds between two reports of progress to the client.
    private static let reportInterval: Int64 = 100_000_000

    /// Bytes of content that are still taken in when the session ends before its time: some times what may wait in buffers as it
    /// was sent. Of what is compressed, or stands for a hole, a few frames can be many times that, and nobody waits for them.
    static let mostLate: UInt64 = 16 << 20

    /// - Parameters:
    ///   - connection: its number; they grow.
    ///   - early: takes what cannot wait for the end of a batch.
    ///   - progress: is told what the worker does.
    package init(
        _ resources: WorkerResources, connection: Int, peer: String, early: EarlyAnswers, progress: ConnectionProgress
    ) {
        self.resources = resources
        self.early = early
        uploads = ConnectionUploads(resources, connection: connection, peer: peer, progress: progress)
        uploads.whenSettled = { [unowned self] upload, outcome in answer(upload, outcome) }
    }

    /// Works on batches until all is done or others have to have their turn; `isBusy` says that there is more.
    package func process(_ batches: [FrameBatch]) -> WorkerOutcome {
        pending += batches
        if pending.contains(where: \.hasBeginnings) || uploads.mustRecheck { outcome.refusal = uploads.recheck() }
        work()
        outcome.isBusy = isBusy
        // What is complete is made durable at once for all of it, and does not wait for an answer that takes long.
        if pending.isEmpty || question != nil { uploads.publish() }
        if !intake.pipeline.mayWait(moreFollows: outcome.isBusy || hasMore.load(ordering: .acquiring)) {
            acknowledge()
        }
        report()
        uploads.endTurn()
        defer { outcome = WorkerOutcome() }
        outcome.isWaiting = intake.pipeline.isWaiting
        return outcome
    }

    private var isBusy: Bool { question != nil || !pending.isEmpty }

    private func work() {
        let turn = Turn(on: resources.pool)
        while isBusy, !turn.isOver {
            guard late <= Self.mostLate else { return drop() }
            if question != nil {
                goOnAnswering()
            } else if let batch = pending.first {
                takeStep(of: batch)
            }
        }
    }

    /// Nothing more is worked on.
    private func drop() {
        question = nil
        pending.removeAll()
        nextStep = 0
    }

    private func takeStep(of batch: FrameBatch) {
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
        question = nil
        acknowledge()
        uploads.leave()
    }

    private func perform(_ operation: FrameBatch.Operation, _ batch: FrameBatch) {
        switch operation {
        case .begin(let begin): start(begin)
        case .resume(let begin): resume(begin)
        case .lookup(let lookup): question = answer(lookup).map { .lookup($0) }
        case .data(let piece):
            uploads.take { (upload) throws(Failure) in try take(piece, batch.bytes(piece), upload) }
        case .block(let block):
            uploads.take { (upload) throws(Failure) in try upload.check(block.index, block.digest) }
        case .end(let end): uploads.end(DeclaredEnd(size: end.size, digest: end.digest))
        case .abort: uploads.abort()
        }
    }

    private func take(
        _ piece: DataPiece, _ bytes: UnsafeRawBufferPointer, _ upload: OpenUpload
    ) throws(Failure) {
        try expansion.expand(piece, bytes, fault: { Failure($0.code, $0.message) }) {
            (content, isHole) throws(Failure) in
            if isEnding.load(ordering: .relaxed) { late = late.addingClamped(UInt64(content.count)) }
            try upload.append(content, isHole: isHole)
        }
    }

    private func start(_ begin: Begin) {
        guard uploads.begin(UploadIntent(begin, of: intake.caller), mayEnd: begin.expectsAccept) else { return }
        if begin.expectsAccept { send(.accept(begin.id)) }
        uploads.noteBeginning()
    }

    private func answer(_ upload: OpenUpload, _ result: UploadOutcome) {
        let id = intake.caller.outer(upload.intent.id)
        send(.result(UploadResult(result, of: id, askedFor: upload.intent.path, by: intake.caller)))
        outcome.settled.append(id)
        if upload.hasEndedMultipart { outcome.hasEndedMultipart = true }
    }

    /// Tells the client how far a long upload has come.
    private func report() {
        guard case .receiving(let upload) = uploads.current, upload.isLong else { return }
        let now = monotonicNanoseconds()
        guard now - lastReport >= Self.reportInterval else { return }
        lastReport = now
        send(.received(Received(id: intake.caller.outer(upload.intent.id), bytes: upload.size)))
    }

    func send(_ message: Message) {
        message.encode(into: &outcome.frames)
    }

    /// Whether an upload in parts of this connection, or of another one of its push, is under way. Not to be asked while a
    /// thread is in the worker.
    var hasUnfinished: Bool { intake.hasUnfinished }

    /// Answers for all that is published; the seal of their receipts leaves behind their results.
    private func acknowledge() {
        if let signedBatch = uploads.acknowledge() { Message.receipts(signedBatch).encode(into: &outcome.frames) }
    }
}
