import Synchronization
import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIntake
import TransferModel
import TransferReceipts
import TransferPorts
import TransferSystem

/// Performs the steps of an HTTP connection: lets the handlers of the routes answer one request after the other, and makes long answers
/// piece by piece.
///
/// Used by one thread at a time, by its `UploadWorker`, except for `mayAnswer`, which is read on the session's loop.
///
/// ```
///   beginTurn ──► perform, goOnAnswering, … ──► endTurn
///      each request: begin ──► a handler ──► reply                          say
///                                       ├──► long answer    sayHead, goOn … goOn
///                                       └──► receiver       write … write, finish ──► say
/// ```
final class HTTPSteps: StepPerformer {
    typealias Batch = HTTPBatch

    /// The client and the server, as handlers see them.
    private let context: HTTPContext

    /// The last request, and how far it is answered; nil before the first request.
    private var exchange: HTTPExchange?

    private var failures = FailureTally()
    private var isStopping = false
    private var outcome = HTTPOutcome(room: 0)

    /// Whether no answer is incomplete.
    fileprivate let isBetweenAnswers = Atomic(true)

    /// Whether the session may send an answer, because the client would not read it as a part of another one.
    var mayAnswer: Bool { isBetweenAnswers.load(ordering: .acquiring) }

    var uploads: ConnectionUploads { context.uploads }
    var service: HTTPService { context.service }
    private var resources: WorkerResources { context.resources }

    /// The address of the client that asks.
    private var peer: String { uploads.peer }

    /// The long answer that is being made; later requests wait for it.
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
    ///   - room: bytes of answers that the turn may make.
    ///   - isStopping: whether nothing new is begun.
    fileprivate func beginTurn(room: Int, isStopping: Bool) {
        outcome = HTTPOutcome(room: room)
        self.isStopping = isStopping
        recheckAnswer()
    }

    var isAnswering: Bool { answer != nil }

    var hasRoom: Bool { outcome.room > 0 && outcome.ending == nil }

    /// What follows an endless answer, or one that was cut off, is ignored.
    var isOver: Bool { exchange?.isOver == true || answer?.isEndless == true }

    func perform(_ step: HTTPBatch.Operation, _ content: UnsafeRawBufferPointer) {
        switch step {
        case .request(let request): begin(request)
        case .content: take(content)
        case .end(let trailers): end(trailers)
        }
    }

    /// Keeps the result of an upload for the answer to its request.
    func settled(_ settled: EndedUpload) { exchange?.settled(settled) }

    /// Does nothing: a request that wants a receipt asks the intake.
    func signed(_ batch: SignedBatch) {}

    func endTurn(leaving left: BatchPipe<HTTPBatch>.Left, refusal: Refusal?) -> HTTPOutcome {
        exchange?.receiver?.endTurn()
        context.files.endTurn()
        outcome.endTurn(hasWork: left == .work)
        defer { outcome = HTTPOutcome(room: 0) }
        return outcome
    }

    /// Updates `mayAnswer`. This need not be called when the connection ends, because an answer that is cut off then was incomplete before.
    fileprivate func noteWhetherInAnswer() {
        isBetweenAnswers.store(exchange?.isInAnswer != true, ordering: .releasing)
    }

    /// Notes that the client needs no further answers.
    fileprivate func abandon() { exchange?.abandon() }

    func connectionEnded() {
        abandon()
        if let repeated = failures.repeated { uploads.events.append(.moreFailed(repeated, peer: peer)) }
    }
}

extension UploadWorker where Performer == HTTPSteps {
    /// - Parameters:
    ///   - room: bytes of answers that the turn may make.
    ///   - isStopping: whether nothing new is begun.
    func process(_ batches: [HTTPBatch], room: Int, isStopping: Bool) -> HTTPOutcome {
        steps.beginTurn(room: room, isStopping: isStopping)
        defer { steps.noteWhetherInAnswer() }
        return process(batches)
    }

    /// Drops what waits: the client needs no further answers.
    func abandon() {
        dropSteps()
        steps.abandon()
    }
}

/// One request, from its head to the last byte of content.
extension HTTPSteps {
    private func begin(_ request: HTTPRequest) {
        exchange = HTTPExchange(request)
        context.forgetCaller()
        uploads.peer = request.way.origin.name
        do throws(HTTPRefusal) {
            respond(try response(to: request))
        } catch {
            refuse(ErrorPage.guided(SignInHandler.guided(error, request), request, for: context.caller))
        }
    }

    /// Authorizes the client, and lets the handler of the request's route answer.
    private func response(to request: HTTPRequest) throws(HTTPRefusal) -> HTTPResponse {
        if service.purpose == .redirection { throw .unencrypted(request) }
        // A sign-in link is answered before all checks that could refuse the request, because the link may be used up already.
        if let signIn = request.signIn {
            return try .reply(SignInHandler(context: context).conclude(signIn, of: request))
        }
        try SignInHandler.checkSession(request)
        if let reply = try ProbeHandler(context: context).answer(request) { return .reply(reply) }
        if AssetHandler.isAsset(request.head) {
            return try AssetHandler(context: context).give(request, HTTPTarget(request.head))
        }
        if isStopping { throw HTTPRefusal(.serverStopping) }
        if request.way.isMisdirected { throw .misdirected }
        try context.admit(request.principal.admitted())
        return try service.shared.router.answer(request, context)
    }

    private func respond(_ response: HTTPResponse) {
        switch response {
        case .reply(let reply): say(reply)
        case .long(let answer): begin(answer)
        case .receive(let receiver, let interim): receive(receiver, interim)
        }
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
        do throws(HTTPRefusal) { respond(try receiver.finish(trailers)) } catch { refuse(error) }
    }
}

/// Sending the answer to a request, at once or piece by piece.
extension HTTPSteps {
    /// Sends the reason why the request is refused. Further content is ignored; if much may follow, the connection ends.
    private func refuse(_ refusal: HTTPRefusal) {
        if !refusal.isLogged, let request = exchange?.request {
            uploads.events.append(
                .requestFailed(
                    SignInLink.hiding(request.head), Failure(refusal.code, refusal.message), peer: peer,
                    isRepeated: failures.add(refusal.code) > 1))
        }
        say(HTTPReply(refusal, for: context.caller))
    }

    /// Sends a short answer, which is complete.
    private func say(_ reply: HTTPReply) {
        guard let exchange else { return }
        let isLast =
            exchange.endsConnection(behind: reply, isStopping: service.core.isStopping)
            || service.purpose == .redirection
        append(reply.bytes(for: exchange.request.head.method, isLast: isLast), isLast: isLast)
        answered(isLast: isLast)
    }

    /// Begins an answer that is made piece by piece.
    private func begin(_ answer: any HTTPAnswer) {
        guard let request = exchange?.request,
            let isLast = exchange?.endsConnection(behind: answer, isStopping: service.core.isStopping)
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
        // The beginning of the answer was sent, so only an early end of the connection can inform the client.
        if let rotten = answer.suspect, error.code == .contentLost { resources.intake.known.add(rotten: rotten) }
        uploads.events.append(
            .requestFailed(answer.path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
        outcome.ending = .broken(error.message)
    }

    /// Cuts off a long answer to a client that has lost its access.
    private func recheckAnswer() {
        guard let answer, !answer.watchesAccess, uploads.isRecheckDue else { return }
        if let refusal = uploads.recheck().refusal {
            giveUp(answer, Failure(refusal.code, refusal.message))
        } else if !context.hasSameAccess {
            giveUp(answer, Failure(.forbidden, "The client's access has changed: ask again."))
        }
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

/// Tells an answer that it can be continued.
protocol AnswerSignal: AnyObject, Sendable {
    /// - Parameter ring: called from any thread when the answer can be continued, perhaps at once; must not block.
    func watch(_ connection: Int, _ ring: @escaping @Sendable () -> Void)

    func leave(_ connection: Int)
}

/// The results of one turn: answers, and what the worker does next.
struct HTTPOutcome: Sendable {
    enum Piece: Sendable {
        case bytes([UInt8])
        case chunk(AnswerChunk)
    }

    /// How the connection ends after the answers.
    enum Ending: Sendable {
        /// The last answer says that it is the last.
        case said
        /// An answer cannot be completed; only the end of the connection tells the client.
        case broken(String)
    }

    /// What the worker does next.
    enum Next: Sendable {
        /// It waits for another batch.
        case rests
        /// It continues with the batches that it has received.
        case goesOn
        /// It continues with its answer when there is an event.
        ///
        /// - Parameter isEndless: whether more events follow for as long as the client listens.
        case waits(any AnswerSignal, isEndless: Bool)
    }

    /// Bytes and chunks of answers, in order.
    private(set) var pieces: [Piece] = []

    /// Bytes that may still be added.
    private(set) var room: Int

    /// Number of requests whose answers are complete with these pieces.
    var answered = 0

    private(set) var next = Next.rests

    var ending: Ending?

    /// Whether the remaining work is useless once the client has gone.
    private(set) var isForClientAlone = false

    init(room: Int) { self.room = room }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        pieces.append(.bytes(bytes))
        room -= bytes.count
    }

    /// Ends the turn of an answer that only its client needs, so that other clients get their turn.
    mutating func rest() {
        room = 0
        isForClientAlone = true
    }

    /// Ends the turn of an answer that has nothing to add before the next event.
    ///
    /// - Parameters:
    ///   - signal: tells when there is an event.
    ///   - isEndless: whether more events follow for as long as the client listens.
    mutating func wait(for signal: any AnswerSignal, isEndless: Bool = false) {
        rest()
        next = .waits(signal, isEndless: isEndless)
    }

    /// - Parameter hasWork: whether the worker still has work on the batches that it has received.
    mutating func endTurn(hasWork: Bool) {
        if case .rests = next, hasWork, ending == nil { next = .goesOn }
    }

    mutating func append(_ chunk: AnswerChunk) {
        pieces.append(.chunk(chunk))
        room -= chunk.count
    }
}
