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
    }

    func settled(_ uploads: [ConnectionUploads.Settled]) {
        for upload in uploads { settled(upload) }
    }

    /// Keeps the result of an upload for the answer to the request that it came with.
    ///
    /// - Parameter settled: nil if no upload has its result.
    func settled(_ settled: ConnectionUploads.Settled?) {
        guard let settled else { return }
        switch incoming {
        case .ignored: break
        case .upload(let upload): upload.outcome = settled.outcome
        case .form(let form): form.settle(settled)
        case .append(let append): append.outcome = settled.outcome
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
        if uploads.mustRecheck { settled(uploads.recheck().settled) }
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

/// What is made of one request.
extension HTTPWorker {
    func begin(_ request: HTTPRequest) {
        incoming = .ignored
        (hasContinued, hasAllContent) = (false, false)
        peer = request.way.origin.name
        uploads.peer = peer
        // Whatever else there is to say: it may have used its link up.
        if let signIn = request.signIn { return conclude(signIn, of: request) }
        do throws(HTTPRefusal) {
            try checkSession(request)
            if try answerProbe(request) { return }
            if isStopping { throw HTTPRefusal(.serverStopping) }
            if request.way.isMisdirected { throw .misdirected }
            try admit(request.client.admitted())
            try route(request)
        } catch {
            refuse(request, guided(error, request))
        }
    }

    /// Asks what the client may do now.
    func admit(_ client: HTTPRequest.Client) throws(HTTPRefusal) {
        uploads.intake.caller = client.caller
        uploads.intake.accountHolder = client.holder
        if let refusal = uploads.recheck().refusal { throw HTTPRefusal(refusal) }
        self.client = uploads.intake.caller
    }
}

/// How the answer to one request is said, at once or piece by piece.
extension HTTPWorker {
    /// Says why a request is not met. Its content is not looked at; where much of it may come, the connection ends with it.
    func refuse(_ request: HTTPRequest, _ refusal: HTTPRefusal) {
        if !refusal.isLogged {
            uploads.events.append(
                .requestFailed(
                    SignInLink.hiding(request.head), Failure(refusal.code, refusal.message), peer: peer,
                    isRepeated: failures.add(refusal.code) > 1))
        }
        say(request, isLast: endsWithRefusal(request)) { isLast in
            if let page = refusal.page {
                return HTTPReply.page(refusal.status, page, refusal.fields).bytes(
                    for: request.head.method, isLast: isLast)
            }
            return HTTPAnswers.problem(
                refusal.status, refusal.code, client.redacted(refusal.message), refusal.fields,
                for: request.head.method,
                isLast: isLast)
        }
    }

    /// Bytes of content that nobody wants and that are read all the same, so that the connection can be used on.
    private static let mostIgnored: UInt64 = 64 << 10

    func endsWithRefusal(_ request: HTTPRequest) -> Bool {
        if hasAllContent { return false }
        return switch request.body {
        case .none: false
        case .length(let length): length > Self.mostIgnored
        case .chunked, .untilClose: true
        }
    }

    func reply(_ request: HTTPRequest, _ reply: HTTPReply) {
        say(request) { isLast in reply.bytes(for: request.head.method, isLast: isLast) }
    }

    /// Whether another request may come behind this one. Whoever waits for a word before his content may send it or not, now that
    /// he has another one: nobody can tell whether what follows is that or a request (RFC 9110, section 10.1.1).
    private func mayGoOn(behind request: HTTPRequest) -> Bool {
        let waits = request.head.expectsContinue && request.body != .none && !hasContinued
        return request.isPersistent && !isStopping && !waits
    }

    /// Says that the content of a request is wanted, to whoever waits for that.
    func sayContinue(to request: HTTPRequest) {
        guard request.head.expectsContinue else { return }
        hasContinued = true
        outcome.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    /// Says all of an answer.
    func say(_ request: HTTPRequest, isLast: Bool = false, _ answer: (Bool) -> [UInt8]) {
        let isLast = isLast || !mayGoOn(behind: request)
        append(confirmed(answer(isLast), for: request, isLast: isLast), to: request)
        answered(isLast: isLast)
    }

    /// A client of HTTP/1.0 has to be told that the connection stays open (RFC 9112, appendix C.2.2).
    private func confirmed(_ head: [UInt8], for request: HTTPRequest?, isLast: Bool) -> [UInt8] {
        let head = request?.session == nil ? head : HTTPAnswers.forgotten(head)
        return request?.head.version == .http10 && !isLast ? HTTPAnswers.keepingOpen(head) : head
    }

    /// Lets an answer begin that is made piece by piece.
    func begin(_ answer: any HTTPAnswer, to request: HTTPRequest) {
        (self.answer, isAnswerLast) = (answer, answer.endsConnection || !mayGoOn(behind: request))
        answering = request
        if answer.headComesFirst { sayHead(of: answer, to: request) }
        // What comes behind it is never looked at.
        if answer.isEndless { (pending, nextStep) = ([], 0) }
    }

    private func sayHead(of answer: any HTTPAnswer, to request: HTTPRequest) {
        append(confirmed(answer.head(isLast: isAnswerLast), for: request, isLast: isAnswerLast), to: request)
    }

    /// - Parameter bytes: the beginning of the answer.
    private func append(_ bytes: [UInt8], to request: HTTPRequest) {
        service.core.observability.metrics.answered(request.head.method, bytes)
        outcome.append(bytes)
    }

    /// The answer to a HEAD: what would be said in front of all that.
    func sayHead(_ request: HTTPRequest, of answer: any HTTPAnswer) {
        say(request, isLast: answer.endsConnection) { isLast in answer.head(isLast: isLast) }
    }

    func goOn(_ answer: any HTTPAnswer) {
        do throws(Failure) {
            guard try answer.fill(&outcome, from: resources.chunks) else { return }
            if let successor = answer.successor, let answering {
                self.answer = nil
                return answering.head.method == .get
                    ? begin(successor, to: answering) : sayHead(answering, of: successor)
            }
            if !answer.headComesFirst, let answering { sayHead(of: answer, to: answering) }
            uploads.events.append(contentsOf: answer.events(peer: peer))
            (self.answer, incoming) = (nil, .ignored)
            answered(isLast: isAnswerLast)
        } catch {
            giveUp(answer, error)
        }
    }

    private func giveUp(_ answer: any HTTPAnswer, _ error: Failure) {
        (self.answer, incoming) = (nil, .ignored)
        if !answer.headComesFirst, let answering { return refuse(answering, HTTPRefusal(error)) }
        // Its beginning has gone out: only that it ends too early can tell the client.
        if let rotten = answer.suspect, error.code == .contentLost { resources.intake.known.add(rotten: rotten) }
        uploads.events.append(
            .requestFailed(answer.path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
        outcome.ending = .broken(error.message)
    }

    /// Whoever has lost his access gets no more of a long answer. An upload that has begun is finished.
    func recheckAnswer() {
        guard let answer, !answer.watchesAccess, case .ignored = incoming, uploads.isAccessOld,
            let refusal = uploads.recheck().refusal
        else { return }
        giveUp(answer, Failure(refusal.code, refusal.message))
    }

    private func answered(isLast: Bool) {
        outcome.answered += 1
        guard isLast else { return }
        isOver = true
        outcome.ending = .said
    }
}

/// What came of some work on requests.
struct HTTPOutcome: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case chunk(ContentChunk)
    }

    /// What becomes of the connection behind the answers.
    enum Ending: Sendable {
        /// The client was told that this is the last one.
        case said
        /// An answer cannot be completed: only the end of the connection says so.
        case broken(String)
    }

    /// Answers, in order.
    private(set) var pieces: [Piece] = []

    /// Bytes that may still be added.
    private(set) var room: Int

    /// Requests that have their whole answer with it.
    var answered = 0

    /// Whether there is more to do of what the worker has already.
    var isBusy = false

    var ending: Ending?

    /// Whether it is of no use to anybody that the pool goes on once the client has gone.
    private(set) var isForClientAlone = false

    /// Whether the answer goes on when something has happened.
    private(set) var isWaiting = false

    init(room: Int) { self.room = room }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        pieces.append(.bytes(bytes))
        room -= bytes.count
    }

    /// Others have their turn before an answer goes on that nobody but the client has anything of.
    mutating func rest() {
        room = 0
        isForClientAlone = true
    }

    /// There is nothing to add before something happens.
    mutating func wait() {
        rest()
        isWaiting = true
    }

    mutating func append(_ chunk: ContentChunk) {
        pieces.append(.chunk(chunk))
        room -= chunk.count
    }
}
