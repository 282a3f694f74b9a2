import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// A connection that was accepted, on one loop for life. Finds out how both sides talk and which front end the client means;
/// from there on that front end's session has it, and nothing else of it is left here. While the client rests there is no session
/// and no task, and the next byte brings both back.
///
/// ```
///   accepted ──TLS, where there is any──► secured ──ALPN, or first bytes──► session ──silence──► resting
///      │ handshake failed, too slow, …                                         ▲                  │ │
///      └──► ended, without a word ◄── too long, the server stops ──────────────┼──────────────────┘ │
///                                                                              └─────── bytes ──────┘
/// ```
actor AcceptedConnection {
    /// Why there is no session.
    private enum Ending {
        /// The client has gone before it said anything.
        case done
        case lost(String)
        /// There is no TLS with this client.
        case insecure(String)
        /// The client is turned away or was given up.
        case fault(ProtocolFault)
        /// The server is going.
        case shutdown
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What can be seen of it from elsewhere.
    nonisolated let progress: ConnectionProgress

    let driver: ConnectionDriver
    private let number: Int
    private let origin: PeerOrigin
    private let core: ServerCore
    private let settings: ServerSettings
    private let frontEnds: FrontEnds
    /// Nothing where connections are not encrypted.
    private let tls: TLSContext?
    private var choice: FrontEndChoice
    private var served: (any ServedConnection)?
    private var resting: (any RestingSession)?
    private var ending: Ending?
    /// Whether the server is going, whatever the session makes of that.
    private var isLeaving = false
    /// The deadline of the handshake, or of a client that rests.
    private var timer: EventLoop.Timer?
    /// Called once, when nothing of the connection is left.
    private let whenOver: @Sendable () async -> Void

    private var peer: String { origin.name }

    /// - Parameters:
    ///   - number: of the connection; they grow.
    ///   - refusal: what the client is told, and then nothing else.
    ///   - whenOver: called once, when the socket is closed and nothing of the connection is left.
    init(
        _ number: Int, from origin: PeerOrigin, on terms: Listener.Terms, loop: EventLoop, _ core: ServerCore,
        refusal: ProtocolFault? = nil, whenOver: @escaping @Sendable () async -> Void
    ) {
        (self.number, self.origin, self.loop, self.core) = (number, origin, loop, core)
        self.whenOver = whenOver
        frontEnds = terms.frontEnds
        choice = FrontEndChoice(terms.frontEnds)
        tls = terms.security()
        settings = core.transport.settings
        progress = ConnectionProgress(number, peer: origin.name, counting: core.observability.metrics)
        driver = ConnectionDriver(settings.timeouts, turn: Transport.bufferSize)
        ending = refusal.map { .fault($0) }
    }

    /// Lives through the whole connection, or until its client rests.
    ///
    /// - Parameter descriptor: the connected socket's, which becomes the connection's.
    func run(_ descriptor: Int32) async {
        guard open(descriptor) else { return await whenOver() }
        if let frontEnd = await choose() { await lead(begin(frontEnd)) } else { await finish() }
    }

    /// Lets the session come to its end. Without one nothing is under way.
    func drain() async {
        isLeaving = true
        guard let served else { return end(.shutdown) }
        await served.drain()
    }

    /// Waits for nothing more.
    func stop() async {
        isLeaving = true
        guard let served else { return end(.shutdown) }
        await served.stop()
    }

    /// Ends at once, because others need the place.
    ///
    /// - Parameter fault: what the client is told.
    func evict(for fault: ProtocolFault) async {
        if let served { return await served.evict(for: fault) }
        end(.fault(fault))
        // It may not have begun to run; then it will find its end.
        if driver.socket != nil { driver.close() }
    }

    private func end(_ reason: Ending) {
        guard ending == nil else { return }
        ending = reason
        driver.wake.fire()
    }

    private func open(_ descriptor: Int32) -> Bool {
        do throws(SystemError) {
            let socket = try StreamSocket(Descriptor(descriptor), loop: loop, readable: driver.wake)
            driver.open(socket)
            socket.disableDelay()
            socket.tune(isLocal: origin.isLocal)
            log(.connected(peer: peer))
            return true
        } catch {
            log(.closed(peer: peer, reason: error.description))
            return false
        }
    }

    private func begin(_ frontEnd: any FrontEnd) -> any ServedConnection {
        progress.speaks(ServerMetrics.Wire(frontEnd: frontEnd.name))
        if !frontEnds.others.isEmpty { log(.recognised(frontEnd.name, peer: peer)) }
        var refusal: ProtocolFault?
        if case .fault(let fault)? = ending { refusal = fault }
        return frontEnd.connection(for: handover(choice.takeOpening(), refusal), of: core)
    }

    private func handover(_ received: [UInt8] = [], _ refusal: ProtocolFault? = nil) -> Handover {
        Handover(
            number: number, origin: origin, loop: loop, driver: driver, progress: progress, settings: settings,
            received: received, refusal: refusal)
    }

    /// Hands the connection over, until it is over or the client rests.
    private func lead(_ served: any ServedConnection) async {
        disarm()
        self.served = served
        if case .shutdown? = ending { await served.stop() }
        let rest = await served.run()
        self.served = nil
        guard let rest else { return await whenOver() }
        self.rest(rest)
    }

    private func log(_ event: LogEvent) {
        core.observability.log.write([event])
    }
}

// MARK: Choosing

extension AcceptedConnection {
    /// The first byte of a record of a TLS handshake (RFC 8446, section 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// Finds out how the client talks, and what.
    ///
    /// - Returns: nothing where this side may not say a word: before there is TLS, and when the connection is broken.
    private func choose() async -> (any FrontEnd)? {
        do throws(StreamError) {
            guard let tls else { return try await chooseByBytes() }
            return try await choose(tls)
        } catch {
            // Whoever was encrypted already has broken the connection, and not failed to encrypt it.
            let isInsecure = tls != nil && driver.socket?.security == nil
            end(isInsecure ? .insecure(error.reason) : .lost(error.reason))
            return nil
        }
    }

    private func choose(_ tls: TLSContext) async throws(StreamError) -> (any FrontEnd)? {
        armTimer()
        guard let socket = driver.socket, let byte = try await firstByte(socket) else { return nil }
        guard byte == Self.handshakeRecord else {
            return try await chooseByBytes(thenRefusing: .encryptionRequired)
        }
        try socket.beginTLS(tls)
        while ending == nil {
            guard try !socket.handshake() else { break }
            await driver.wake.wait()
        }
        guard ending == nil, let security = socket.security else { return nil }
        log(.secured(peer: peer, security))
        if let agreed = choice.frontEnd(named: security.protocolName) { return agreed }
        return try await chooseByBytes()
    }

    /// - Returns: nothing when the connection is ending.
    private func firstByte(_ socket: StreamSocket) async throws(StreamError) -> UInt8? {
        while ending == nil {
            switch try socket.firstByte() {
            case .byte(let byte): return byte
            case .wouldBlock: await driver.wake.wait()
            case .end: end(.done)
            }
        }
        return nil
    }

    /// Receives as many bytes as it takes to know whom the client means, or gives it to whoever answers the others.
    ///
    /// - Parameter fault: why the client is turned away, whoever it is.
    private func chooseByBytes(thenRefusing fault: ProtocolFault? = nil) async throws(StreamError) -> any FrontEnd {
        while true {
            if ending != nil { choice.complete() }
            if let chosen = choice.frontEnd {
                if let fault { end(.fault(fault)) }
                return chosen
            }
            guard try !receive() else { continue }
            if timer == nil { armTimer() }
            await driver.wake.wait()
        }
    }

    /// - Returns: whether anything came, if only the end.
    private func receive() throws(StreamError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: choice.room, alignment: 1)
        defer { buffer.deallocate() }
        switch try driver.receive(into: buffer) {
        case .wouldBlock: return false
        case .end: choice.complete()
        case .bytes(let count): choice.received(buffer[..<count])
        }
        return true
    }
}

// MARK: Resting

extension AcceptedConnection {
    /// Waits for the client to say something, with as little memory as that takes.
    private func rest(_ session: any RestingSession) {
        resting = session
        progress.rests(true)
        armTimer()
        if isLeaving { end(.shutdown) }
        // What has come since the session has looked has fired it.
        driver.wake.call { [weak self] in self?.assumeIsolated { $0.goOn() } }
    }

    private func goOn() {
        guard let rest = resting.take() else { return }
        driver.wake.call(nil)
        progress.rests(false)
        Task(executorPreference: loop) { await self.goOn(with: rest) }
    }

    private func goOn(with rest: any RestingSession) async {
        if ending == nil { await lead(rest.connection(for: handover(), of: core)) } else { await finish() }
    }
}

// MARK: Time

extension AcceptedConnection {
    private func armTimer() {
        disarm()
        timer = loop.schedule(at: driver.liveness.deadline.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.timerFired() }
        }
    }

    private func disarm() {
        if let timer { loop.cancel(timer) }
        timer = nil
    }

    private func timerFired() {
        timer = nil
        guard ending == nil else { return }
        guard case .giveUp(let fault) = driver.liveness.expire(now: .now) else { return armTimer() }
        // Whoever rests owes nothing.
        end(resting == nil ? .fault(fault) : .lost(fault.message))
    }
}

// MARK: Ending without a session

extension AcceptedConnection {
    private func finish() async {
        disarm()
        switch ending {
        case .fault(let fault): log(.refused(peer: peer, fault))
        case .shutdown: log(.closed(peer: peer, reason: "the server is stopping"))
        case .insecure(let reason): log(.insecure(peer: peer, reason: reason))
        case .lost(let reason): log(.closed(peer: peer, reason: reason))
        case .done, nil: log(.closed(peer: peer, reason: "the client is done"))
        }
        // Nothing was said.
        await driver.linger(on: loop) { false }
        driver.close()
        await whenOver()
    }
}

extension ConnectionLimits.Shortage {
    var fault: ProtocolFault {
        switch self {
        case .perNetwork: ProtocolFault(.busy, "There are too many connections from this address.")
        case .pending: ProtocolFault(.busy, "Too many connections have not introduced themselves yet.")
        case .places:
            ProtocolFault(
                .busy,
                "The server has almost all connections that it may have, and the others are for addresses without one.")
        }
    }
}

extension ProtocolFault {
    fileprivate static let encryptionRequired = ProtocolFault(
        .encryptionRequired,
        "This server takes encrypted connections only: connect with TLS, without --plaintext.")
}
