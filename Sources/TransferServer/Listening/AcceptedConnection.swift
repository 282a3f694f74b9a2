import Synchronization
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// An accepted connection, on one loop for its whole life. It finds out who the client is if a balancer forwards it, whether the client
/// uses TLS and which front end it means; from then on that front end's session serves the client. While the client is idle, there is neither a session nor a task; the next byte makes both
/// again.
///
/// ```
///   accepted ──TLS, if the listener has it──► secured ──ALPN, or first bytes──► session ──silence──► resting
///      │ handshake failed, too slow, …                                         ▲                  │ │
///      └──► ended, without a word ◄── too long, the server stops ──────────────┼──────────────────┘ │
///                                                                              └─────── bytes ──────┘
/// ```
actor AcceptedConnection {
    /// Why the connection ends without a session.
    private enum Ending {
        /// The client has closed the connection before it sent anything.
        case done
        case lost(String)
        /// The TLS handshake with the client failed.
        case insecure(String)
        /// The client is refused or was given up.
        case fault(ProtocolFault)
        /// The server is stopping and ends the connection.
        case shutdown
    }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// What the status shows of the connection.
    nonisolated let progress: ConnectionProgress

    let driver: ConnectionDriver
    private let number: Int
    /// Until the PROXY header is read, a balancer's.
    private var origin: PeerOrigin
    private let core: ServerCore
    private let settings: ServerSettings
    private let frontEnds: FrontEnds
    /// Nil if connections of this listener are not encrypted.
    private let tls: TLSContext?
    private var choice: FrontEndChoice
    private var served: (any ServedConnection)?
    private var resting: (any RestingSession)?
    private var ending: Ending?
    /// Whether the server is stopping or about to stop, so that the connection ends when its client becomes idle.
    private var isLeaving: Bool
    /// The deadline of the handshake, or of an idle client.
    private var timer: EventLoop.Timer?
    /// Called once, after everything else of the connection has ended.
    private let whenOver: @Sendable () async -> Void

    private var peer: String { origin.name }

    /// - Parameters:
    ///   - number: number of the connection; later connections have greater numbers.
    ///   - refusal: the only thing that the client receives; nil if it is served.
    ///   - whenOver: called once, when the socket is closed and everything else of the connection has ended.
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
        isLeaving = core.transport.isLeaving.load(ordering: .relaxed)
    }

    /// Serves the connection until it ends or its client becomes idle.
    ///
    /// - Parameter descriptor: the connected socket, which the connection owns from now on.
    func run(_ descriptor: Int32) async {
        guard open(descriptor) else { return await whenOver() }
        guard await isIdentified(), let frontEnd = await choose() else { return await finish() }
        await lead(begin(frontEnd))
    }

    /// Ends the connection as soon as its client is idle, because the server is about to stop.
    func leave() {
        isLeaving = true
        if resting != nil { end(.shutdown) }
    }

    /// Lets the session finish; without a session the connection ends.
    func drain() async {
        isLeaving = true
        guard let served else { return end(.shutdown) }
        await served.drain()
    }

    /// Ends the session without waiting.
    func stop() async {
        isLeaving = true
        guard let served else { return end(.shutdown) }
        await served.stop()
    }

    /// Ends at once, because another connection needs the place.
    ///
    /// - Parameter fault: what the client receives.
    func evict(for fault: ProtocolFault) async {
        if let served { return await served.evict(for: fault) }
        end(.fault(fault))
        // If `run` has not begun, it will find the ending.
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
            if !origin.isBalancer { log(.connected(peer: peer)) }
            return true
        } catch {
            log(.closed(peer: peer, reason: error.description))
            return false
        }
    }

    private func begin(_ frontEnd: any FrontEnd) -> any ServedConnection {
        progress.speaks(ServerMetrics.Wire(frontEnd: frontEnd.name))
        if !frontEnds.others.isEmpty { log(.protocolDetected(frontEnd.name, peer: peer)) }
        var refusal: ProtocolFault?
        if case .fault(let fault)? = ending { refusal = fault }
        return frontEnd.connection(for: handover(choice.takeOpening(), refusal), of: core)
    }

    private func handover(_ received: [UInt8] = [], _ refusal: ProtocolFault? = nil) -> Handover {
        Handover(
            number: number, origin: origin, loop: loop, driver: driver, progress: progress, settings: settings,
            received: received, refusal: refusal)
    }

    /// Hands the connection to a session, until that ends or the client becomes idle.
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

// MARK: Behind a balancer

extension AcceptedConnection {
    /// Finds out who the client is, if a balancer forwards the connection. The client is then counted for its network, which may have too
    /// many connections.
    ///
    /// - Returns: whether the client is known. If not, the connection is ending, and nothing must be sent.
    private func isIdentified() async -> Bool {
        guard origin.isBalancer, ending == nil else { return true }
        armTimer()
        do throws(StreamError) {
            guard let header = try await proxyHeader() else { return false }
            origin = origin.stated(by: header, core.configuration)
        } catch {
            end(.lost(error.reason))
            return false
        }
        if !origin.isBalancer { progress.asks(origin.name) }
        log(.connected(peer: peer))
        guard let shortage = core.transport.limits.withLock({ [origin] in $0.identify(number, as: origin.network) })
        else { return true }
        core.observability.metrics.refused(shortage)
        end(.fault(shortage.fault))
        return true
    }

    /// Receives the PROXY header, and no byte behind it.
    ///
    /// - Returns: nil if the connection is ending.
    private func proxyHeader() async throws(StreamError) -> ProxyHeader? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: ProxyHeaderReader.mostAtOnce, alignment: 1)
        defer { buffer.deallocate() }
        var reader = ProxyHeaderReader()
        var hasBegun = false
        while ending == nil {
            switch reader.step {
            case .header(let header): return header
            case .invalid(let reason): end(.fault(.badProxyHeader(reason)))
            case .needs(let count):
                switch try driver.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])) {
                case .bytes(let count):
                    hasBegun = true
                    reader.received(buffer[..<count])
                case .wouldBlock: await driver.wake.wait()
                case .end: end(hasBegun ? .fault(.badProxyHeader("it is cut off")) : .done)
                }
            }
        }
        return nil
    }
}

// MARK: Choosing

extension AcceptedConnection {
    /// First byte of a TLS handshake record (RFC 8446, section 5.1).
    private static let handshakeRecord: UInt8 = 22

    /// Finds out whether the client uses TLS, and which front end it means.
    ///
    /// - Returns: nil if the server must not send a word: before TLS is established, and when the connection is broken.
    private func choose() async -> (any FrontEnd)? {
        do throws(StreamError) {
            guard let tls else { return try await chooseByBytes() }
            return try await choose(tls)
        } catch {
            // After the handshake, an error is a broken connection rather than a failed handshake.
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
        log(.handshakeCompleted(peer: peer, security))
        if let agreed = choice.frontEnd(named: security.protocolName) { return agreed }
        return try await chooseByBytes()
    }

    /// - Returns: nil if the connection is ending.
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

    /// Receives as many bytes as the decision needs; clients that mean no other front end get the usual one.
    ///
    /// - Parameter fault: why the client is refused, unless its front end answers clients without encryption; nil if it is served.
    private func chooseByBytes(thenRefusing fault: ProtocolFault? = nil) async throws(StreamError) -> any FrontEnd {
        while true {
            if ending != nil { choice.complete() }
            if let chosen = choice.frontEnd {
                guard let fault else { return chosen }
                if let unencrypted = chosen.unencrypted { return unencrypted }
                end(.fault(fault))
                return chosen
            }
            guard try !receive() else { continue }
            if timer == nil { armTimer() }
            await driver.wake.wait()
        }
    }

    /// - Returns: whether bytes or the end of the stream arrived.
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
    /// Waits for bytes from the client, with as little memory as possible.
    private func rest(_ session: any RestingSession) {
        resting = session
        progress.rests(true)
        armTimer()
        if isLeaving { end(.shutdown) }
        // If bytes have arrived since the session last looked, the signal has kept that, and calls at once.
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
        // An idle client owes no bytes, so its timeout is no fault.
        end(resting == nil ? .fault(fault) : .lost(fault.message))
    }
}

// MARK: Ending without a session

extension AcceptedConnection {
    private func finish() async {
        disarm()
        switch ending {
        case .fault(let fault): log(.protocolError(peer: peer, fault))
        case .shutdown: log(.closed(peer: peer, reason: "the server is stopping"))
        case .insecure(let reason): log(.handshakeFailed(peer: peer, reason: reason))
        case .lost(let reason): log(.closed(peer: peer, reason: reason))
        case .done, nil: log(.closed(peer: peer, reason: "the client is done"))
        }
        // Returns false because no bytes wait to be sent.
        await driver.linger(on: loop) { false }
        driver.close()
        await whenOver()
    }
}

extension ConnectionLimits.Shortage {
    var fault: ProtocolFault {
        switch self {
        case .perNetwork: ProtocolFault(.busy, "There are too many connections from this address.")
        case .pending: ProtocolFault(.busy, "Too many connections have not finished their handshake yet.")
        case .places:
            ProtocolFault(
                .busy,
                "The server has almost as many connections as it may have, and reserves the others for "
                    + "addresses without a connection.")
        }
    }
}

extension ProtocolFault {
    fileprivate static func badProxyHeader(_ reason: String) -> ProtocolFault {
        ProtocolFault(.malformedFrame, "The balancer's PROXY header is not valid: \(reason).")
    }

    fileprivate static let encryptionRequired = ProtocolFault(
        .encryptionRequired,
        "This server accepts encrypted connections only: connect with TLS, without --plaintext.")
}
