import Synchronization
import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore
import TransferSystem

/// The pool's side of a connection on which HTTP is spoken: does what requests ask for, and makes the answers, one after the
/// other.
///
/// `@unchecked Sendable`: the session hands it one batch at a time and waits for the outcome, so no two threads are ever in it.
final class HTTPWorker: @unchecked Sendable {
    /// What is done with the content of the request that came last.
    enum Incoming {
        /// There is none, or nobody wants it.
        case ignored
        case upload(HTTPUpload)
        case form(HTTPForm)
        case append(HTTPAppend)
    }

    let uploads: ConnectionUploads
    let files: ConnectionFiles
    let resources: WorkerResources
    /// The address of who asks.
    var peer: String
    var failures = FailureTally()

    /// Who asks.
    var client = Caller(peer: "")
    /// What is asked of the server itself.
    let service: HTTPService
    var incoming = Incoming.ignored
    /// The answer that is being made; what comes behind its request waits.
    var answer: (any HTTPAnswer)?
    var isAnswerLast = false
    /// Whether the content of the request that came last was asked for.
    var hasContinued = false
    /// Whether all content has come of the request that came last.
    var hasAllContent = false
    /// What it answers.
    var answering: HTTPRequest?
    /// Whether nothing is taken any more, because the client was told so.
    var isOver = false
    /// What is not worked through. Only content keeps the buffer that it lies in: whoever takes no answers must not hold
    /// buffers with the requests that wait behind them.
    var pending: [(operation: HTTPBatch.Operation, batch: HTTPBatch?)] = []
    var nextStep = 0
    var isStopping = false
    var outcome = HTTPOutcome(room: 0)

    private var random = SecureRandom()

    /// Of an upload, as its sender sees it.
    func newID() -> UploadID { .random(using: &random) }

    /// Whether the client is not in the middle of an answer.
    private let isBetweenAnswers = Atomic(true)

    /// Whether something can be said now that the client takes for an answer.
    var mayAnswer: Bool { isBetweenAnswers.load(ordering: .acquiring) }

    init(
        _ resources: WorkerResources, _ service: HTTPService, connection: Int, peer: String,
        progress: ConnectionProgress
    ) {
        (self.resources, self.service, self.peer) = (resources, service, peer)
        files = ConnectionFiles(resources)
        uploads = ConnectionUploads(resources, connection: connection, peer: peer, progress: progress)
        uploads.whenSettled = { [unowned self] upload, outcome in
            switch incoming {
            case .ignored: break
            case .upload(let own): own.outcome = outcome
            case .form(let form): form.settle(upload.intent.id, outcome)
            case .append(let append): append.outcome = outcome
            }
        }
    }

    /// Works on batches until all is answered, there is as much as fits, or it is others' turn.
    ///
    /// - Parameters:
    ///   - room: bytes of answers.
    ///   - isStopping: whether nothing new is to be begun.
    func process(_ batches: [HTTPBatch], room: Int, isStopping: Bool) -> HTTPOutcome {
        outcome = HTTPOutcome(room: room)
        for batch in batches { take(batch) }
        if uploads.mustRecheck { _ = uploads.recheck() }
        self.isStopping = isStopping
        recheckAnswer()
        work()
        // What waits for the end of a form would keep its files open for as long as its sender likes.
        if case .form = incoming { settleForm() }
        files.endTurn()
        uploads.endTurn()
        outcome.isBusy = outcome.ending == nil && !outcome.isWaiting && (answer != nil || nextStep < pending.count)
        isBetweenAnswers.store(answer == nil, ordering: .releasing)
        defer { outcome = HTTPOutcome(room: 0) }
        return outcome
    }

    /// Nobody waits for the rest of what was asked for.
    func abandon() {
        answer = nil
        pending = []
        nextStep = 0
    }

    /// The connection ended: what is not complete will not be.
    func leave() {
        abandon()
        uploads.leave()
        if let repeated = failures.repeated { resources.log.write([.moreFailed(repeated, peer: peer)]) }
    }

    private func work() {
        let turn = Turn(on: resources.pool)
        while outcome.room > 0, outcome.ending == nil, !turn.isOver {
            if let answer {
                goOn(answer)
            } else if let (operation, batch) = next() {
                perform(operation, batch)
            } else {
                return
            }
        }
    }

    private func take(_ batch: HTTPBatch) {
        guard answer?.isEndless != true else { return }
        pending += batch.operations.map { operation in
            if case .content = operation { (operation, batch) } else { (operation, nil) }
        }
    }

    private func next() -> (HTTPBatch.Operation, HTTPBatch?)? {
        guard nextStep < pending.count else {
            pending = []
            nextStep = 0
            return nil
        }
        defer {
            pending[nextStep].batch = nil
            nextStep += 1
        }
        return pending[nextStep]
    }

    private func perform(_ operation: HTTPBatch.Operation, _ batch: HTTPBatch?) {
        guard !isOver else { return }
        switch operation {
        case .request(let request): begin(request)
        case .content(let range): if let batch { take(batch.bytes(range)) }
        case .end(let trailers): end(trailers)
        }
    }
}
