import Synchronization
import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// The steps of a connection on which HTTP is spoken: has one request after the other answered by the handler of its route, and makes
/// long answers piece by piece.
///
/// Used by one thread at a time, by its `UploadWorker`, but for `mayAnswer`, which is asked on the session's loop.
///
/// ```
///   beginTurn ──► perform, goOnAnswering, … ──► endTurn
///      each request: begin ──► a handler ──► reply                          say
///                                       ├──► long answer    sayHead, goOn … goOn
///                                       └──► receiver       write … write, finish ──► say
/// ```
final class HTTPSteps: StepPerformer {
    typealias Batch = HTTPBatch

    /// What handlers work with.
    private let context: HTTPContext

    /// The request that came last, and how far its answer is; nil before the first.
    private var exchange: HTTPExchange?

    private var failures = FailureTally()
    private var isStopping = false
    private var outcome = HTTPOutcome(room: 0)

    /// Whether the client is not in the middle of an answer.
    fileprivate let isBetweenAnswers = Atomic(true)

    /// Whether something can be said now that the client takes for an answer.
    var mayAnswer: Bool { isBetweenAnswers.load(ordering: .acquiring) }

    var uploads: ConnectionUploads { context.uploads }
    var service: HTTPService { context.service }
    private var resources: WorkerResources { context.resources }

    /// The address of the client that asks.
    private var peer: String { uploads.peer }

    /// The long answer that is being made; what comes behind its request waits.
    private var answer: (any HTTPAnswer)? { exchange?.answer }

    init(_ uploads: ConnectionUploads, _ service: HTTPService) {
        context = HTTPContext(uploads, uploads.resources, service)
    }
}

// MARK: One turn

extension HTTPSteps {
    /// To be called before each turn.
    ///
    /// - Parameters:
    ///   - room: bytes of answers.
    ///   - isStopping: whether nothing new is to be begun.
    fileprivate func beginTurn(room: Int, isStopping: Bool) {
        outcome = HTTPOutcome(room: room)
        self.isStopping = isStopping
        recheckAnswer()
    }

    var isAnswering: Bool { answer != nil }

    var hasRoom: Bool { outcome.room > 0 && outcome.ending == nil }

    /// What comes behind an answer without an end, or without the end that it should have, is never looked at.
    var isOver: Bool { exchange?.isOver == true || answer?.isEndless == true }

    func perform(_ step: HTTPBatch.Operation, _ content: UnsafeRawBufferPointer) {
        switch step {
        case .request(let request): begin(request)
        case .content: take(content)
        case .end(let trailers): end(trailers)
        }
    }

    /// Keeps the result of an upload for the answer to the request that it came with.
    func settled(_ settled: EndedUpload) { exchange?.settled(settled) }

    /// A request that wants the receipt of its upload asks the intake for it.
    func signed(_ batch: SignedBatch) {}

    func endTurn(leaving left: BatchPipe<HTTPBatch>.Left, refusal: Refusal?) -> HTTPOutcome {
        exchange?.receiver?.endTurn()
        context.files.endTurn()
        outcome.endTurn(hasWork: left == .work)
        defer { outcome = HTTPOutcome(room: 0) }
        return outcome
    }

    /// Lets the session know whether it may say something. Not asked when the connection ends: an answer that is cut off then was in
    /// the middle before.
    fileprivate func noteWhetherInAnswer() {
        isBetweenAnswers.store(exchange?.isInAnswer != true, ordering: .releasing)
    }

    /// The client waits for nothing more of what it has asked for.
    fileprivate func abandon() { exchange?.abandon() }

    func connectionEnded() {
        abandon()
        if let repeated = failures.repeated { uploads.events.append(.moreFailed(repeated, peer: peer)) }
    }
}

extension UploadWorker where Performer == HTTPSteps {
    /// - Parameters:
    ///   - room: bytes of answers.
    ///   - isStopping: whether nothing new is to be begun.
    func process(_ batches: [HTTPBatch], room: Int, isStopping: Bool) -> HTTPOutcome {
        steps.beginTurn(room: room, isStopping: isStopping)
        defer { steps.noteWhetherInAnswer() }
        return process(batches)
    }

    /// The client waits for nothing more of what it has asked for.
    func abandon() {
        dropSteps()
        steps.abandon()
    }
}

/// One request, from its head to the end of its content.
extension HTTPSteps {
    private func begin(_ request: HTTPRequest) {
        exchange = HTTPExchange(request)
        uploads.peer = request.way.origin.name
        do throws(HTTPRefusal) {
            switch try response(to: request) {
            case .reply(let reply): say(reply)
            case .long(let answer): begin(answer)
            case .receive(let receiver, let interim): receive(receiver, interim)
            }
        } catch {
            refuse(SignInHandler.guided(error, request))
        }
    }

    /// Authorizes the client, and has the handler of the request's route answer.
    private func response(to request: HTTPRequest) throws(HTTPRefusal) -> HTTPResponse {
        // Before all other reasons not to answer: the link may be used up now.
        if let signIn = request.signIn {
            return try .reply(SignInHandler(context: context).conclude(signIn, of: request))
        }
        try SignInHandler.checkSession(request)
        if let reply = try ProbeHandler(context: context).answer(request) { return .reply(reply) }
        if isStopping { throw HTTPRefusal(.serverStopping) }
        if request.way.isMisdirected { throw .misdirected }
        try context.admit(request.principal.admitted())
        return try service.shared.router.answer(request, context)
    }

    private func receive(_ receiver: any ContentReceiver, _ interim: [UInt8]) {
        outcome.append(interim)
        if let invitation = exchange?.receive(receiver) { outcome.append(invitation) }
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        guard let receiver = exchange?.receiver else { return }
        do throws(HTTPRefusal) {
            switch try receiver.write(bytes) {
            case .wantsMore(let interim): outcome.append(interim)
            case .answer(let reply): say(reply)
            }
        } catch {
            refuse(error)
        }
    }

    private func end(_ trailers: HTTPFields) {
        exchange?.contentEnded()
        guard let receiver = exchange?.receiver else { return }
        do throws(HTTPRefusal) { say(try receiver.finish(trailers)) } catch { refuse(error) }
    }
}

/// How the answer to a request is said, at once or piece by piece.
extension HTTPSteps {
    /// Says why the request is not met. Its content is ignored; where much of it may come, the connection ends with it.
    private func refuse(_ refusal: HTTPRefusal) {
        if !refusal.isLogged, let request = exchange?.request {
            uploads.events.append(
                .requestFailed(
                    SignInLink.hiding(request.head), Failure(refusal.code, refusal.message), peer: peer,
                    isRepeated: failures.add(refusal.code) > 1))
        }
        say(HTTPReply(refusal, for: context.caller))
    }

    /// Says all of an answer.
    private func say(_ reply: HTTPReply) {
        guard let exchange else { return }
        let isLast = exchange.endsConnection(behind: reply, isStopping: isStopping)
        append(reply.bytes(for: exchange.request.head.method, isLast: isLast), isLast: isLast)
        answered(isLast: isLast)
    }

    /// Lets an answer begin that is made piece by piece.
    private func begin(_ answer: any HTTPAnswer) {
        guard let request = exchange?.request,
            let isLast = exchange?.endsConnection(behind: answer, isStopping: isStopping)
        else { return }
        if answer.headComesFirst {
            append(answer.head(isLast: isLast), isLast: isLast)
            if request.head.method == .head { return answered(isLast: isLast) }
        }
        exchange?.begin(answer, isLast: isLast)
    }

    func goOnAnswering() {
        guard let answer, case .answering(_, let isLast)? = exchange?.state else { return }
        do throws(Failure) {
            guard try answer.fill(&outcome, from: resources.chunks) else { return }
            if let successor = answer.successor { return begin(successor) }
            if !answer.headComesFirst { append(answer.head(isLast: isLast), isLast: isLast) }
            uploads.events.append(contentsOf: answer.events(peer: peer))
            answered(isLast: isLast)
        } catch {
            giveUp(answer, error)
        }
    }

    private func giveUp(_ answer: any HTTPAnswer, _ error: Failure) {
        guard answer.headComesFirst else { return refuse(HTTPRefusal(error)) }
        exchange?.abandon()
        // Its beginning has gone out: only that it ends too early can tell the client.
        if let rotten = answer.suspect, error.code == .contentLost { resources.intake.known.add(rotten: rotten) }
        uploads.events.append(
            .requestFailed(answer.path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
        outcome.ending = .broken(error.message)
    }

    /// A client that has lost its access gets no more of a long answer.
    private func recheckAnswer() {
        guard let answer, !answer.watchesAccess, uploads.isRecheckDue, let refusal = uploads.recheck().refusal
        else { return }
        giveUp(answer, Failure(refusal.code, refusal.message))
    }

    /// - Parameter bytes: the beginning of an answer.
    private func append(_ bytes: [UInt8], isLast: Bool) {
        guard let exchange else { return }
        let bytes = exchange.completed(bytes, isLast: isLast)
        service.core.observability.metrics.answered(exchange.request.head.method, bytes)
        outcome.append(bytes)
    }

    private func answered(isLast: Bool) {
        exchange?.answered(isLast: isLast)
        outcome.answered += 1
        if isLast { outcome.ending = .said }
    }
}

/// What came of some work on requests.
struct HTTPOutcome: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case chunk(AnswerChunk)
    }

    /// What becomes of the connection behind the answers.
    enum Ending: Sendable {
        /// The client was told that this is the last one.
        case said
        /// An answer cannot be completed: only the end of the connection says so.
        case broken(String)
    }

    /// What the worker does next.
    enum Next: Sendable {
        /// It rests until there is another batch.
        case rests
        /// It goes on with what it has already.
        case goesOn
        /// It goes on with its answer when something has happened.
        case waitsForNews
    }

    /// Answers, in order.
    private(set) var pieces: [Piece] = []

    /// Bytes that may still be added.
    private(set) var room: Int

    /// Requests that have their whole answer with it.
    var answered = 0

    private(set) var next = Next.rests

    var ending: Ending?

    /// Whether it is of no use to anybody that the pool goes on once the client has gone.
    private(set) var isForClientAlone = false

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
        next = .waitsForNews
    }

    /// - Parameter hasWork: whether there is more to do of what the worker has already.
    mutating func endTurn(hasWork: Bool) {
        if next == .rests, hasWork, ending == nil { next = .goesOn }
    }

    mutating func append(_ chunk: AnswerChunk) {
        pieces.append(.chunk(chunk))
        room -= chunk.count
    }
}
