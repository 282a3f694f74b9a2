import Synchronization
import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// The front end for HTTP/1.1, as docs/HTTP.md has it: for browsers, curl, and every program that uploads over HTTP.
struct HTTPFrontEnd: FrontEnd {
    let name = "http"

    /// RFC 7301, section 6.
    static let names = ["http/1.1", "http/1.0"]

    var protocols: [String] { Self.names }

    /// Whether clients come over a proxy, on a listener that knows no encryption.
    var isPlain = false

    private static let emptyLine = Array("\r\n".utf8)

    let openingSize = emptyLine.count * HTTPLimits.emptyLines + 1

    /// A request begins with its method, and all methods that are in use are upper case letters. Empty lines may stand in front
    /// (RFC 9112, section 2.2).
    func recognise(_ opening: [UInt8]) -> Recognition {
        var rest = opening[...]
        for _ in 0..<HTTPLimits.emptyLines where rest.starts(with: Self.emptyLine) {
            rest = rest.dropFirst(Self.emptyLine.count)
        }
        guard let first = rest.first, !rest.elementsEqual(Self.emptyLine.prefix(1)) else { return .needsMore }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? .yes : .no
    }

    func session(for handover: Handover, of core: ServerCore) -> any Session {
        HTTPSession(handover, core, isPlain: isPlain)
    }
}

/// The session of a client that speaks HTTP/1.1, on the loop of its connection. Parses on the loop, finds out who asks with each
/// request, and has the pool answer: one request after the other, in order.
actor HTTPSession {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let transport: Transport
    nonisolated let observability: Observability
    nonisolated let intake: Intake
    let number: Int
    let origin: PeerOrigin
    let worker: HTTPWorker
    var accountHolder: AccountHolder
    /// Who pays for its work on the pool.
    var account: PoolAccount
    nonisolated let progress: ConnectionProgress
    let driver: ConnectionDriver
    let settings: ServerSettings
    var outbound = Outbound<ContentChunk>()
    var counted = 0
    var pipe: BatchPipe<HTTPBatch>
    /// Fired when the client has taken some of what waits for it.
    let roomForAnswers = Signal()
    var reader = RequestReader()
    /// A request of which is not known who asks.
    var undecided: UndecidedRequest?
    /// One of which that is known, and that is not in a batch yet.
    var decided: HTTPRequest?
    /// One that goes to the pool together with all of its content, which is short, once that has come.
    private var gathering: (request: HTTPRequest, length: Int)?
    /// Who asked last, and what he showed.
    var known: KnownClient?
    /// Whether it was made to turn the client away, whatever he asks for.
    let isTurningAway: Bool
    /// Whether clients come over a proxy.
    let isPlain: Bool
    let web: HTTPWays
    /// Whether the client has asked for something, so that the deadline of its handshake is past.
    var isEstablished = false
    /// Requests that have no answer yet.
    var unanswered = 0
    /// Whether content is coming behind the head of a request.
    var isInContent = false
    /// Whether the client was told that it has had its last answer.
    var hasSaidLast = false
    /// Whether the client says no more, and waits for what it has asked for.
    var isHalfClosed = false
    /// Whether the client says nothing, and the session ends without a word.
    private(set) var isResting = false
    private let began = MonotonicTime.now
    /// Fires when the client may have said nothing for long.
    private(set) var restTimer: EventLoop.Timer?
    /// Whether the content of a request is coming.
    private(set) var isReceiving = false
    /// Whether there was content in what came last.
    private var hasContent = false
    private(set) var isDraining = false
    private(set) var ending: SessionEnding?
    /// Of an answer that goes on when there is something to tell.
    var watching: EventWatch?
    let bell = MailBell()
    /// What the client did wrong, in HTTP's words.
    var fault: HTTPFault?

    var peer: String { origin.name }

    /// - Parameters:
    ///   - isPlain: whether clients come over a proxy, without encryption.
    ///   - isForProbes: whether only programs that watch over the server are answered.
    ///   - known: who asked last, where somebody has asked before.
    init(
        _ handover: Handover, _ core: ServerCore, isPlain: Bool, isForProbes: Bool = false, known: KnownClient? = nil
    ) {
        (self.isPlain, web) = (isPlain, core.ways)
        (number, origin, loop) = (handover.number, handover.origin, handover.loop)
        (intake, transport, observability) = (core.intake, core.transport, core.observability)
        (driver, progress, settings) = (handover.driver, handover.progress, handover.settings)
        self.known = known
        isEstablished = known != nil
        accountHolder = known?.client.holder ?? AccountHolder(handover.origin)
        account = transport.accounts.enter(accountHolder)
        worker = HTTPWorker(
            WorkerResources(core), HTTPService(core, isForProbes: isForProbes), connection: number, peer: origin.name,
            progress: progress)
        pipe = BatchPipe(received: handover.received)
        ending = handover.refusal.map { .fault($0) }
        isTurningAway = handover.refusal != nil
        worker.uploads.account = account
        if let end = driver.socket?.peerEnd {
            worker.uploads.intake.sender = Sender(connection: number) { end.hasCome }
        }
    }

    func run() async {
        driver.liveness.timeouts.heartbeat = max(settings.timeouts.idle, settings.timeouts.silence)
        armTimer()
        flushWhenWritable()
        await readLoop()
        await leave()
        // The server may have begun to stop meanwhile.
        if isResting, ending == nil { driver.socket?.writable.call(nil) } else { await finish() }
        transport.accounts.leave(accountHolder)
    }

    func drain() {
        isDraining = true
        tell()
        endIfDone()
    }

    func stop() { end(.shutdown) }

    func evict(for fault: ProtocolFault) {
        end(.fault(fault))
        close()
    }

    func end(_ reason: SessionEnding) {
        guard ending == nil else { return }
        ending = reason
        roomForAnswers.fire()
        driver.wake.fire()
    }

    /// Ends where nothing more is to come and all is answered. A connection on which nothing is asked is closed without a word, as
    /// HTTP has it.
    func endIfDone() {
        guard ending == nil, outbound.isEmpty else { return }
        if hasSaidLast { return end(.done) }
        guard isDraining || isHalfClosed, owesNothing else { return }
        end(isHalfClosed ? .done : .shutdown)
    }

    /// Whether nothing is asked, as far as was received.
    private var owesNothing: Bool {
        !isReceiving && unanswered == 0 && undecided == nil && decided == nil && pipe.isDrained
    }

    /// Silence while something is asked is a fault; between requests it is not.
    private func expectContent(_ isExpected: Bool) {
        isReceiving = isExpected
        driver.liveness.timeouts.silence = isExpected ? settings.timeouts.silence : settings.timeouts.idle
        driver.liveness.active(now: .now)
        driver.liveness.expectRate(isExpected, now: .now)
        armTimer()
    }

    /// Work on the pool is the client's from now on.
    func pay(as holder: AccountHolder) {
        guard holder != accountHolder else { return }
        transport.accounts.leave(accountHolder)
        accountHolder = holder
        account = transport.accounts.enter(holder)
        worker.uploads.account = account
    }
}

// MARK: Reading

extension HTTPSession: ServedSession {
    var isEnding: Bool { ending != nil }

    /// Who has not shown who he is gets no room for more than that.
    var mostReceived: Int { known == nil ? Limits.controlBody : .max }

    var takesAnswers: Bool { hasRoomForAnswers }

    /// Inside a request that has content, and behind one.
    var expectsContent: Bool { hasContent || isReceiving }

    var isUndecided: Bool { undecided != nil }

    /// HTTP has no sign of life. Who takes nothing for as long as this is not worth waiting for.
    func sendPing() {
        if !outbound.isEmpty { end(.fault(.takesNothing)) }
    }

    /// Silence between requests is no fault.
    func broke(_ fault: ProtocolFault) {
        let isIdle = fault.code == .timedOut && !isReceiving && unanswered == 0
        end(isIdle && isEstablished ? .lost(fault.message) : .fault(fault))
    }

    func lost(_ reason: String) { end(.lost(reason)) }

    /// Some clients say that they ask for nothing more, and wait for what they have asked for.
    func ended() {
        guard !isReceiving, reader.isBetweenRequests, pipe.isParsed, watching == nil else {
            return end(.lost("the client closed the connection"))
        }
        isHalfClosed = true
        endIfDone()
    }

    func parsed() {
        if let batch = pipe.filling { hasContent = batch.hasContent }
        endIfDone()
    }

    func answersTaken() {
        roomForAnswers.fire()
        endIfDone()
        // Whoever has taken the last of them slowly may rest from now on.
        if outbound.isEmpty, owesNothing { driver.wake.fire() }
    }

    func rested() { endIfDone() }

    func step(_ batch: HTTPBatch) throws(ProtocolFault) -> FoundStep {
        if let request = decided {
            decided = nil
            return pass(on: request, batch)
        }
        if let (request, length) = gathering {
            guard batch.unparsed.count >= length else { return .needsMore }
            gathering = nil
            batch.append(.request(request))
            return .step
        }
        let (step, consumed) = try next(batch)
        defer { batch.consumed(consumed) }
        switch step {
        case .needsMore:
            if reader.isBetweenRequests == isReceiving { expectContent(!reader.isBetweenRequests) }
            return .needsMore
        case .head(let head, let body):
            let way = try way(of: head)
            unanswered += 1
            isInContent = true
            expectContent(true)
            undecided = UndecidedRequest(head: head, body: body, way: way)
            // Whoever shows the same as before need not be asked about again: the worker looks whether he still may.
            if let request = repeated() {
                undecided = nil
                return pass(on: request, batch)
            }
            return .lastStep
        case .content(let range): batch.append(content: range)
        case .end(let trailers):
            batch.append(.end(trailers))
            isInContent = false
            expectContent(false)
        }
        return .step
    }

    private func pass(on request: HTTPRequest, _ batch: HTTPBatch) -> FoundStep {
        if let length = request.gatheredLength {
            gathering = (request, length)
        } else {
            batch.append(.request(request))
        }
        return .step
    }

    private func next(_ batch: HTTPBatch) throws(ProtocolFault) -> (RequestStep, Int) {
        do throws(HTTPFault) {
            return try reader.next(batch.unparsed)
        } catch {
            fault = error
            throw ProtocolFault(.malformedFrame, error.message)
        }
    }
}

// MARK: Resting

extension HTTPSession {
    /// Whether a client that has come in keeps its connection for later: browsers keep several.
    func mayRest() -> Bool {
        guard known != nil, owesNothing, outbound.isEmpty, !hasSaidLast, !isHalfClosed, watching == nil,
            reader.isBetweenRequests, pipe.isParsed
        else { return false }
        // To make a session costs something: each lasts for a while, though a client may say too little for a request.
        let due = max(driver.liveness.quietSince, began) + settings.timeouts.rest
        isResting = due <= .now
        if !isResting, restTimer == nil {
            restTimer = loop.schedule(at: due.nanoseconds) { [weak self] in
                self?.assumeIsolated { session in
                    session.restTimer = nil
                    session.driver.wake.fire()
                }
            }
        }
        return isResting
    }

    var rest: (any RestingSession)? {
        guard !driver.isOver, let known else { return nil }
        return RestingHTTP(known: known, isPlain: isPlain, isForProbes: worker.service.isForProbes)
    }

    private struct RestingHTTP: RestingSession {
        let known: KnownClient
        let isPlain: Bool
        let isForProbes: Bool

        func session(for handover: Handover, of core: ServerCore) -> any Session {
            HTTPSession(handover, core, isPlain: isPlain, isForProbes: isForProbes, known: known)
        }
    }
}

/// From where requests come.
extension HTTPSession {
    /// - Throws: when a proxy says what cannot be understood; the client is told why.
    func way(of head: RequestHead) throws(ProtocolFault) -> HTTPWay {
        var way = HTTPWay(origin: origin, isSecure: driver.socket?.isSecure == true ? true : nil)
        // Whatever comes over a proxy may come from anywhere.
        if isPlain || origin.isProxy { way.origin.isLocal = false }
        if origin.isProxy {
            do throws(HTTPFault) {
                try way.believe(head.fields, web.proxies) { [web] in web.origin(of: $0) }
            } catch {
                fault = error
                throw ProtocolFault(.malformedFrame, error.message)
            }
        }
        way.isMisdirected = web.hosts.isMisdirected(head, way)
        return way
    }
}

/// What a server knows of the ways to it over HTTP.
struct HTTPWays: Sendable {
    let proxies: [TrustedProxy]
    let hosts: OwnHosts
    private let network: @Sendable (SocketAddress) -> PeerNetwork?

    init(_ configuration: ServerConfiguration, covers: @escaping @Sendable (String) -> Bool) {
        proxies = configuration.trustedProxies
        hosts = OwnHosts(isAsked: configuration.isOpen, names: configuration.ownNames, covers: covers)
        network = configuration.network
    }

    /// Of a client whose address a proxy has told: on this machine it is the proxy that is.
    func origin(of address: IPAddress) -> PeerOrigin {
        PeerOrigin(
            name: address.text ?? "unknown", network: network(SocketAddress(address, port: 0)), isLocal: false)
    }
}

/// One receive buffer on its way to the pool, with the requests in it, in order.
///
/// `@unchecked Sendable`: the session fills it, then hands it over and never touches it again.
final class HTTPBatch: ReceivedSteps, @unchecked Sendable {
    enum Operation {
        case request(HTTPRequest)
        /// Content of the request that came last, as it lies in the buffer.
        case content(Range<Int>)
        /// All content of the request has come, with its trailers.
        case end(HTTPFields)
    }

    /// Steps in one batch at most, so that a buffer full of short requests, or of chunks of a byte, does not become many times
    /// as much memory.
    static let mostOperations = 512

    var input: ReceiveBuffer
    private(set) var operations: [Operation] = []

    init(_ buffer: BlockBuffer, carry: [UInt8]) {
        input = ReceiveBuffer(buffer, carry: carry)
    }

    init(after batch: HTTPBatch) {
        input = batch.input
    }

    var isEmpty: Bool { operations.isEmpty }

    var isComplete: Bool { operations.count >= Self.mostOperations }

    private(set) var hasContent = false

    func append(_ operation: Operation) { operations.append(operation) }

    /// Adds content whose range counts from the first unparsed byte. What comes right behind other content becomes one piece
    /// with it: each is a call to the disk.
    func append(content range: Range<Int>) {
        hasContent = true
        let placed = input.placed(range)
        if case .content(let last)? = operations.last, last.upperBound == placed.lowerBound {
            operations[operations.count - 1] = .content(last.lowerBound..<placed.upperBound)
        } else {
            operations.append(.content(placed))
        }
    }

    func bytes(_ range: Range<Int>) -> UnsafeRawBufferPointer { input.bytes(range) }
}
