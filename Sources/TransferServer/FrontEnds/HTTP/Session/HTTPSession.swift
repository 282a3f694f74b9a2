import Synchronization
import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// The front end for HTTP/1.1, see docs/reference/http.md: for browsers, curl, and every program that uploads over HTTP.
struct HTTPFrontEnd: FrontEnd {
    let name = "http"

    /// Names in TLS (RFC 7301, section 6).
    static let names = ["http/1.1", "http/1.0"]

    var protocols: [String] { Self.names }

    var purpose = HTTPPurpose.files

    private static let emptyLine = Array("\r\n".utf8)

    let openingSize = emptyLine.count * HTTPLimits.emptyLines + 1

    var unencrypted: (any FrontEnd)? { HTTPFrontEnd(purpose: .redirection) }

    /// A request begins with its method, and all methods in use are upper case letters. Empty lines may precede it (RFC 9112, section 2.2).
    func recognise(_ opening: [UInt8]) -> Recognition {
        var rest = opening[...]
        for _ in 0..<HTTPLimits.emptyLines where rest.starts(with: Self.emptyLine) {
            rest = rest.dropFirst(Self.emptyLine.count)
        }
        guard let first = rest.first, !rest.elementsEqual(Self.emptyLine.prefix(1)) else { return .needsMore }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? .yes : .no
    }

    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
        handover.connection(HTTPSession(handover, core, purpose))
    }
}

/// The session of a client that speaks HTTP/1.1. It parses on the loop, finds out the client of each request, and has the pool answer one
/// request after the other, in order.
///
/// ```
///   bytes ──wire──► head ──which client?──► request, content ──► HTTPSteps ──► answers ──► the client
///
///   awake ──silent for a while──► resting: only a `RestingHTTP` remains
/// ```
final class HTTPSession: ServedSession {
    typealias Batch = HTTPBatch
    typealias Chunk = AnswerChunk

    /// Whether the session may end while its client is silent.
    private enum Rest {
        case awake
        /// A timer is set for the moment at which the client has been silent long enough.
        case due(EventLoop.Timer)
        /// The session ends without a word, and the connection stays open.
        case resting
    }

    /// The deadline of the handshake applies until a client was admitted.
    enum Handshake { case open, over }

    let client: ServedClient
    let worker: UploadWorker<HTTPSteps>
    var wire: HTTPWire
    let purpose: HTTPPurpose
    private let web: HTTPWays
    /// The client of the last request, and its credentials.
    var known: KnownClient?
    var handshake: Handshake
    /// Fired when the client has taken some of the bytes that wait for it.
    let roomForAnswers = Signal()
    private var rest = Rest.awake
    private let began = MonotonicTime.now
    /// State of an answer that waits for events; nil without such an answer.
    var watching: EventWatch?
    let bell = MailBell()

    /// - Parameter known: the client of the last request; nil on a new connection.
    init(_ handover: Handover, _ core: ServerCore, _ purpose: HTTPPurpose, known: KnownClient? = nil) {
        client = ServedClient(handover, core, holder: known?.principal.holder)
        (self.purpose, web, self.known) = (purpose, core.ways, known)
        handshake = known == nil ? .open : .over
        // A client that is refused gets the reason as an answer, before it has sent a request.
        wire = HTTPWire(owesAnswer: handover.refusal != nil)
        let uploads = ConnectionUploads(
            WorkerResources(core), connection: client.number, peer: client.origin.name, progress: client.progress)
        worker = UploadWorker(HTTPSteps(uploads, HTTPService(core, purpose)))
        worker.uploads.account = client.account
        worker.uploads.intake.sender = Sender(handover)
    }

    func run(on connection: isolated Connection) async -> (any RestingSession)? {
        let timeouts = client.settings.timeouts
        connection.driver.liveness.timeouts.heartbeat = max(timeouts.idle, timeouts.silence)
        connection.armTimer()
        connection.flushWhenWritable()
        await connection.readLoop()
        await leave(on: connection)
        var remainder: (any RestingSession)?
        // The server may have begun to stop meanwhile.
        if case .resting = rest, connection.ending == nil {
            connection.driver.socket?.writable.call(nil)
            if let known, !connection.driver.isOver {
                remainder = RestingHTTP(known: known, purpose: purpose)
            }
        } else {
            await finish(on: connection)
        }
        client.leave()
        return remainder
    }

    /// Ends the session if everything is answered and no more requests are to come. An idle connection is closed without a word, as HTTP
    /// allows.
    func endIfDone(on connection: isolated Connection) {
        guard connection.ending == nil, connection.outbound.isEmpty else { return }
        switch wire.closing {
        case .saidLast: connection.end(.done)
        case .halfClosed: if owesNothing(on: connection) { connection.end(.done) }
        case .open: if connection.isDraining, owesNothing(on: connection) { connection.end(.shutdown) }
        }
    }

    /// Whether no request is unanswered, as far as bytes were received.
    private func owesNothing(on connection: isolated Connection) -> Bool {
        wire.owesNothing && connection.pipe.isDrained
    }

    /// Silence is a fault while a request is under way; between requests it is not.
    private func expectContent(_ isExpected: Bool, on connection: isolated Connection) {
        let (driver, timeouts) = (connection.driver, client.settings.timeouts)
        driver.liveness.timeouts.silence = isExpected ? timeouts.silence : timeouts.idle
        driver.liveness.active(now: .now)
        driver.liveness.expectRate(isExpected, now: .now)
        connection.armTimer()
    }

    /// Charges a holder for the work on the pool from now on.
    func pay(as holder: AccountHolder) {
        if client.pay(as: holder) { worker.uploads.account = client.account }
    }
}

// MARK: Reading

extension HTTPSession {
    /// Before the client is known, few bytes are received at once.
    var mostReceived: Int { known == nil ? Limits.controlBody : .max }

    func takesAnswers(on connection: isolated Connection) -> Bool {
        client.hasRoom(behind: connection.outbound.count)
    }

    /// Content is expected inside a request with content, and after one.
    var expectsContent: Bool { wire.expectsContent }

    var isUndecided: Bool { wire.undecided != nil }

    func step(_ batch: HTTPBatch, on connection: isolated Connection) throws(ProtocolFault) -> FoundStep {
        switch try wire.step(batch) {
        case .needsMore(let isInRequest):
            if let isInRequest { expectContent(isInRequest, on: connection) }
            return .needsMore
        case .nothing: return .step
        case .end:
            expectContent(false, on: connection)
            return .step
        case .head(let head, let body):
            let way = try way(of: head, on: connection.driver.socket)
            let undecided = UndecidedRequest(head: head, body: body, way: way)
            wire.ask(undecided)
            expectContent(true, on: connection)
            // A client that shows the same credentials again is not authenticated again: the worker rechecks its access.
            guard let request = repeated(undecided) else { return .lastStep }
            wire.decided(request)
            return .step
        }
    }

    func parsed(on connection: isolated Connection) {
        if let batch = connection.pipe.filling { wire.parsed(batch) }
        endIfDone(on: connection)
    }

    /// Some clients close their side after their last request, and wait for the answers.
    func peerEnded(on connection: isolated Connection) {
        guard wire.isBetweenRequests, connection.pipe.isParsed, watching?.isEndless != true else {
            return connection.end(.lost("the client closed the connection"))
        }
        wire.halfClosed()
        endIfDone(on: connection)
    }

    /// HTTP has no ping. A client that takes no bytes for this time is disconnected.
    func sendPing(on connection: isolated Connection) {
        if connection.hasUnsent { connection.end(.fault(.takesNothing)) }
    }

    /// Silence between requests is no fault.
    func broke(_ fault: ProtocolFault, on connection: isolated Connection) {
        let isIdle = fault.code == .timedOut && wire.owesNothing
        connection.end(isIdle && handshake == .over ? .lost(fault.message) : .fault(fault))
    }

    func flushed(on connection: isolated Connection) {
        roomForAnswers.fire()
        endIfDone(on: connection)
        // If the client was slow to take the last answer, its session can end from now on.
        if connection.outbound.isEmpty, owesNothing(on: connection) { connection.driver.wake.fire() }
    }

    func rested(on connection: isolated Connection) { endIfDone(on: connection) }
}

// MARK: Answering

/// Answering on the pool, one request after the other, and the last words.
extension HTTPSession {
    func work(on connection: isolated Connection) async {
        let transport = client.transport
        while !connection.driver.isOver, connection.outbound.count >= transport.answerRoom.ahead {
            // The connection is ending, so no further answers are needed.
            guard connection.ending == nil else {
                _ = connection.pipe.take()
                // No thread is in the worker now.
                worker.abandon()
                return connection.pipe.worked()
            }
            await roomForAnswers.wait()
        }
        let room = transport.answerRoom.chunk
        let batches = connection.pipe.take()
        watching?.hasNews = false
        let isStopping = isStopping(on: connection)
        let outcome = await onPool { [worker] in worker.process(batches, room: room, isStopping: isStopping) }
        connection.driver.liveness.active(now: .now)
        answer(outcome, on: connection)
        let goesOn: Bool
        switch outcome.next {
        case .rests, .goesOn:
            if watching?.isEndless == false { unwatch() }
            if case .goesOn = outcome.next { goesOn = true } else { goesOn = false }
        case .waits(let signal, let isEndless):
            // The answer that waited before is complete, and the next one waits.
            if let watching, watching.signal !== signal { unwatch() }
            if connection.ending == nil { watch(signal, isEndless: isEndless, on: connection) }
            goesOn = watching?.hasNews == true
        }
        connection.pipe.worked(leaving: goesOn && isWorthwhile(outcome, on: connection) ? .work : .nothing)
    }

    /// Whether a client remains for which the pool should continue.
    private func isWorthwhile(_ outcome: HTTPOutcome, on connection: isolated Connection) -> Bool {
        if outcome.isForClientAlone, case .lost? = connection.ending { return false }
        return !connection.driver.isOver
    }

    private func answer(_ outcome: HTTPOutcome, on connection: isolated Connection) {
        for piece in outcome.pieces {
            switch piece {
            case .bytes(let bytes): connection.outbound.append(bytes)
            case .chunk(let chunk):
                client.progress.answered(chunk.count)
                connection.outbound.append(chunk)
            }
        }
        wire.answered(outcome.answered)
        if !outcome.pieces.isEmpty { connection.flush() }
        switch outcome.ending {
        case nil: break
        // The connection is not closed at once: the client has time to take the last answer, as with every answer.
        case .said:
            wire.saidLast()
            endIfDone(on: connection)
        case .broken(let reason): connection.end(.lost(reason))
        }
    }
}

// MARK: Ending

extension HTTPSession {
    func draining(on connection: isolated Connection) {
        tell(on: connection)
        endIfDone(on: connection)
    }

    func ended(for reason: SessionEnding, on connection: isolated Connection) { roomForAnswers.fire() }

    func abandon() {}

    func farewell(for fault: ProtocolFault) -> [UInt8] { [] }

    /// Answers what was received completely. Afterwards the pool has no work of this session.
    func leave(on connection: isolated Connection) async {
        unwatch()
        await connection.finishWork()
        await onPool { [worker] in _ = worker.cancel() }
        connection.stopTimer()
        stopWaitingForRest(on: connection)
    }

    /// Sends a last answer if the client may get one, and closes.
    func finish(on connection: isolated Connection) async {
        client.log(connection.ending)
        sayGoodbye(on: connection)
        await connection.linger()
    }

    /// Only a client that has sent a request gets a last answer: any other would read it as the answer to its next request.
    private func sayGoodbye(on connection: isolated Connection) {
        guard worker.steps.mayAnswer else { return }
        switch connection.ending {
        case .fault(let fault) where wire.owesAnswer:
            let answer = wire.fault ?? HTTPFault(fault.code.httpStatus, fault.message)
            connection.send(HTTPAnswers.last(answer, code: fault.code))
        case .shutdown where wire.unanswered > 0:
            connection.send(HTTPAnswers.last(HTTPFault(503, Failure.serverStopping.message), code: .shuttingDown))
        case .fault, .shutdown, .refused, .lost, .done, nil: break
        }
    }
}

// MARK: Resting

extension HTTPSession {
    /// Whether the session of an admitted client can end until the next request, while its connection stays open: browsers keep several.
    func mayRest(on connection: isolated Connection) -> Bool {
        guard known != nil, owesNothing(on: connection), connection.outbound.isEmpty, wire.closing == .open,
            watching == nil, wire.isBetweenRequests, connection.pipe.isParsed
        else { return false }
        // Making a session costs time, so each lasts for a while even if too few bytes for a request arrive.
        let due = max(connection.driver.liveness.quietSince, began) + client.settings.timeouts.rest
        if due <= .now {
            stopWaitingForRest(on: connection)
            rest = .resting
            return true
        }
        if case .awake = rest {
            rest = .due(
                connection.schedule(at: due) {
                    $0.session.rest = .awake
                    $0.driver.wake.fire()
                })
        }
        return false
    }

    func stopWaitingForRest(on connection: isolated Connection) {
        guard case .due(let timer) = rest else { return }
        connection.loop.cancel(timer)
        rest = .awake
    }

    private struct RestingHTTP: RestingSession {
        let known: KnownClient
        let purpose: HTTPPurpose

        func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection {
            handover.connection(HTTPSession(handover, core, purpose, known: known))
        }
    }
}

/// How requests reach the server.
extension HTTPSession {
    /// - Throws: if a proxy's fields are not understood; the answer says so.
    private func way(of head: RequestHead, on socket: StreamSocket?) throws(ProtocolFault) -> HTTPWay {
        let origin = client.origin
        var way = HTTPWay(origin: origin, isSecure: socket?.isSecure == true ? true : nil)
        // A request through a proxy can come from any machine.
        if purpose == .filesBehindProxy || origin.isProxy { way.origin.isLocal = false }
        if origin.isProxy {
            do throws(HTTPFault) {
                try way.believe(head.fields, web.proxies) { [web] in web.origin(of: $0) }
            } catch {
                throw wire.broken(error)
            }
        }
        way.isMisdirected = web.hosts.isMisdirected(head, way)
        return way
    }
}

/// The server's names and trusted proxies, for judging how a request has reached it.
struct HTTPWays: Sendable {
    let proxies: [TrustedProxy]
    let hosts: OwnHosts
    private let network: @Sendable (SocketAddress) -> PeerNetwork?

    init(_ configuration: ServerConfiguration, covers: @escaping @Sendable (String) -> Bool) {
        proxies = configuration.trustedProxies
        hosts = OwnHosts(isAsked: configuration.isOpen, names: configuration.ownNames, covers: covers)
        network = configuration.network
    }

    /// The origin of a client whose address a proxy states. It is never local: only the proxy is on this machine.
    func origin(of address: IPAddress) -> PeerOrigin {
        PeerOrigin(
            name: address.text ?? "unknown", network: network(SocketAddress(address, port: 0)), isLocal: false)
    }
}
