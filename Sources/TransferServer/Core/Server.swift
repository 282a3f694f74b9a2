import Glibc
import Synchronization
package import TransferIO
import TransferGallery
import TransferIntake
import TransferKeys
import TransferMail
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferPorts
import TransferSystem

/// The server: owns the loops, the listeners and all connections. `core` has what sessions need to serve clients.
///
/// `init` opens the directory and starts the loops; `start` listens; `reload` reads the settings again; `shutDown` lets running uploads
/// finish, and `stopConnections` ends the connections that remain.
package actor Server {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    nonisolated let core: ServerCore
    private let loops: [EventLoop]
    private let permits: Permits
    /// Answers programs of the same user that ask for the server's status.
    var statusSocket: ControlSocket?
    /// Answers clients that look for the server on their network.
    var discovery: DiscoveryService?
    /// Events about the server's key and state folder, logged when the server starts to listen.
    private let identity: [LogEvent]
    private var listeners: [Listener] = []
    private var connections: [Int: AcceptedConnection] = [:]
    private var connectionNumber = 0
    private var stage = Stage.serving
    /// Fired when the drain delay is over, or is cut short.
    private let departure = Signal()
    /// Number of jobs on the pool that no connection waits for.
    private var backgroundJobs = 0
    /// Fired when a connection or a background job has ended.
    private let ended = Signal()

    /// How far the server has stopped.
    private enum Stage {
        case serving
        /// The server still accepts connections, and its probes say that it stops: the drain delay.
        case leaving
        /// The server accepts no more connections.
        case stopping
    }

    private var isStopping: Bool { stage == .stopping }

    /// Opens the directory and starts the loops; accepts no connection yet.
    ///
    /// - Throws: `ServerError` with a sentence that says what to do.
    package init(_ configuration: ServerConfiguration, log: Log) throws(ServerError) {
        guard let cluster = configuration.cluster else {
            try self.init(configuration, log: log, on: ServerFoundations())
            return
        }
        let node = try ClusterNode(cluster, path: configuration.directory)
        try self.init(configuration, log: log, on: ServerFoundations(node))
    }

    init(_ configuration: ServerConfiguration, log: Log, on foundations: ServerFoundations) throws(ServerError) {
        let store: OpenedStore
        do throws(Failure) {
            store = try foundations.openStore(configuration)
        } catch {
            throw ServerError(error.message)
        }
        // The store has its lock by now: without it, two servers that start at once could both make the folder.
        let state = try StateFolder(configuration.stateDirectory, of: configuration.directory, makes: true)
        try store.node?.checkIdentity()
        let identity = try Identity(configuration, foundations.frontEnds(configuration.http))
        if let key = identity.key { try store.node?.claim(key) }
        let trashes = try store.node?.trashes(configuration.trash)
        self.identity =
            (store.node?.events ?? []) + identity.events + (state.hasLostRecords ? [.newState(state.path)] : [])
        core = ServerCore(
            configuration: configuration, store: store, state: state, log: log, identity: identity, trashes: trashes,
            on: foundations)
        try core.checkCatalog()
        try core.checkChat()
        core.resolveIntended()
        // This comes after name changes are resolved, because they decide the paths of files.
        core.intake.adoption.begin()
        core.expire(leftovers: true)
        permits = Permits(configuration.maximumConnections)
        do throws(SystemError) {
            var made: [EventLoop] = []
            for number in 0..<max(1, configuration.loops) { made.append(try EventLoop(name: "transfer-\(number)")) }
            loops = made
            loop = made[0]
        } catch {
            throw ServerError("Cannot start a thread: \(error).")
        }
    }

    /// The server ends when the last reference to it is released; its loops end with it.
    deinit {
        for loop in loops { loop.stop() }
        core.transport.pool.close()
        core.transport.accessPool.close()
        statusSocket?.close()
        discovery?.stop()
    }

    /// Listens on every endpoint and begins to accept.
    ///
    /// - Returns: the addresses, with the ports that the system chose for port 0.
    /// - Throws: `ServerError`; then no listener is open.
    @discardableResult
    package func start() async throws(ServerError) -> [Endpoint] {
        let bound: [Endpoint]
        do throws(ServerError) {
            bound = try await listen()
            try await listenForProbes()
            try await bindDiscovery(listeners.filter { $0.use == nil && !$0.isForProbes }.map(\.socket.address))
        } catch {
            closeListeners()
            throw error
        }
        core.observability.endpoints.withLock { $0 = bound.map(\.description) }
        bindStatusSocket()
        let announcements = await core.transport.pool.run { [core, bound] in core.announce(bound) }
        await core.transport.pool.run { [core] in
            core.openLibraries()
            if core.configuration.isConfined { core.confine() }
        }
        if core.store.isInDoubt { core.observability.log.write([.syncFailed]) }
        // A worker that replaces another one does not repeat what the earlier worker has logged.
        if !core.configuration.isRestart {
            core.observability.log.write(identity + announcements + listening)
        }
        scheduleExpiry()
        watchLock()
        runInBackground { core in
            core.intake.known.load()
            core.intake.forgetUnfinished()
            // Servers may be replaced more often than they sweep by the clock.
            core.sweep()
        }
        core.adopt()
        await core.transport.pool.run { [core] in core.logCatalog() }
        tellStatus()
        beDiscovered()
        // Clients that connected before this wait in the kernel's queue.
        for number in listeners.indices { Task(executorPreference: loop) { await self.acceptLoop(number) } }
        return bound
    }

    /// Waits for the drain delay, stops accepting, lets running uploads finish within the grace period, informs clients, and returns when
    /// all connections are over.
    package func shutDown() async {
        guard stage == .serving else { return stopConnections() }
        await leave()
        stage = .stopping
        core.intake.isStopping.store(true, ordering: .relaxed)
        closeListeners()
        discovery?.stop()
        core.observability.log.write([.stopping(connections: connections.count)])
        // A connection can be waiting for the end of a multipart upload that another connection completes.
        core.transport.whenMultipartEnds.withLock { [loop] in
            $0 = { [weak self] in Task(executorPreference: loop) { await self?.drainConnections() } }
        }
        drainConnections()
        let grace = MonotonicTime.now + core.transport.settings.drain
        let timer = loop.schedule(at: grace.nanoseconds) { [weak self] in
            self?.assumeIsolated { $0.stopConnections() }
        }
        while !connections.isEmpty || backgroundJobs > 0 { await ended.wait() }
        loop.cancel(timer)
        await core.transport.pool.run { [core, discovery] in
            core.sharedNews?.close()
            core.intake.adoption.stop()
            core.intake.forgetUnfinished()
            core.intake.known.close()
            core.intake.mailroom?.close()
            core.gallery?.close()
            discovery?.close()
        }
        statusSocket?.close()
        core.store.unlock()
        core.observability.log.finish()
        core.observability.log.write([.stopped])
    }

    /// Serves for the drain delay while the probes say that the server stops, so that balancers send new connections elsewhere. HTTP
    /// connections end behind their next answer, and idle ones at once.
    private func leave() async {
        let delay = core.configuration.drainDelay
        guard delay.nanoseconds > 0 else { return }
        stage = .leaving
        core.transport.isLeaving.store(true, ordering: .relaxed)
        core.observability.log.write([.leaving(delay)])
        for connection in connections.values {
            Task(executorPreference: connection.loop) { await connection.leave() }
        }
        let timer = loop.schedule(at: (MonotonicTime.now + delay).nanoseconds) { [departure] in departure.fire() }
        await departure.wait()
        loop.cancel(timer)
    }

    private func drainConnections() {
        for connection in connections.values {
            Task(executorPreference: connection.loop) { await connection.drain() }
        }
    }

    /// Ends every connection now, and the drain delay; `shutDown` returns soon after.
    package func stopConnections() {
        departure.fire()
        for connection in connections.values {
            Task(executorPreference: connection.loop) { await connection.stop() }
        }
    }

    /// Returns when every loop has finished the work that it had at the time of the call.
    package func visitLoops() async {
        for loop in loops { await Task(executorPreference: loop) {}.value }
    }

    /// Open connections, including refused ones that still receive an answer.
    package var connectionCount: Int { connections.count }
}

// MARK: Listening

extension Server {
    private func listen() async throws(ServerError) -> [Endpoint] {
        let bound = await core.transport.pool.run { [configuration = core.configuration] in
            Result { () throws(ServerError) in try configuration.bind() }
        }
        let sockets = try bound.get()
        do throws(SystemError) {
            for socket in sockets {
                let listening = try ListeningSocket(socket.socket, loop: loop)
                listeners.append(Listener(socket: listening, terms: terms(socket.use), use: socket.use))
            }
        } catch {
            for socket in sockets { socket.socket.close() }
            throw ServerError("Cannot accept connections: \(error).")
        }
        return listeners.filter { $0.use == nil }.map(\.socket.endpoint)
    }

    /// Binds the address for metrics. No socket is handed over for it: a restarted worker binds it again.
    private func listenForProbes() async throws(ServerError) {
        guard case .listener(let endpoint) = core.configuration.metrics else { return }
        let bound = await core.transport.pool.run { Result { () throws(ServerError) in try endpoint.boundForProbes() } }
        let sockets = try bound.get()
        do throws(SystemError) {
            for socket in sockets {
                let terms = Listener.Terms(frontEnds: FrontEnds(ProbesFrontEnd())) { nil }
                listeners.append(
                    Listener(
                        socket: try ListeningSocket(socket, loop: loop), terms: terms, use: nil, isForProbes: true))
            }
        } catch {
            for socket in sockets { socket.close() }
            throw ServerError("Cannot accept connections: \(error).")
        }
    }

    private func terms(_ use: ListenerUse?) -> Listener.Terms {
        switch use {
        case .classic(let classic): Listener.Terms(frontEnds: FrontEnds(ClassicFrontEnd(listener: classic))) { nil }
        case .http: Listener.Terms(frontEnds: FrontEnds(HTTPFrontEnd(purpose: .filesBehindProxy))) { nil }
        case nil:
            Listener.Terms(frontEnds: core.frontEnds, isForBalancers: true) { [transport = core.transport] in
                transport.tls
            }
        }
    }

    /// Events for the log with the addresses of all listeners.
    private var listening: [LogEvent] {
        listeners.map { listener in
            let address = listener.socket.address
            if listener.isForProbes { return .listeningForProbes(listener.socket.endpoint, isLocal: address.isLocal) }
            return switch listener.use {
            case .classic(let classic): .listening(listener.socket.endpoint, classic, isLocal: address.isLocal)
            case .http: .listeningForProxies(listener.socket.endpoint, isLocal: address.isLocal)
            case nil: .listening(listener.socket.endpoint.description)
            }
        }
    }

    /// Addresses for monitoring programs that read metrics.
    package var probeEndpoints: [Endpoint] { listeners.filter(\.isForProbes).map(\.socket.endpoint) }

    /// Addresses for clients of the classic framings, in the order of the configuration.
    package var classicEndpoints: [Endpoint] { listeners.filter { $0.use?.classic != nil }.map(\.socket.endpoint) }

    /// Addresses for proxies, in the order of the configuration.
    package var plainHTTPEndpoints: [Endpoint] { listeners.filter { $0.use?.http != nil }.map(\.socket.endpoint) }

    private func closeListeners() {
        for listener in listeners { listener.socket.close() }
        listeners = []
    }
}

// MARK: Accepting

extension Server {
    /// Times to wait before accepting again when the process has no descriptors left.
    private static let exhaustionBackoff = (first: Interval.milliseconds(10), longest: Interval.seconds(1))

    /// - Parameter number: index of the listener. If the listener is closed before this method begins, the method does nothing.
    private func acceptLoop(_ number: Int) async {
        guard listeners.indices.contains(number) else { return }
        let listener = listeners[number]
        var backoff = Backoff(first: Self.exhaustionBackoff.first, longest: Self.exhaustionBackoff.longest)
        var generator = SystemRandomNumberGenerator()
        while let (descriptor, peer) = await acceptOne(listener.socket, &backoff, &generator) {
            await seat(descriptor, peer, on: listener.terms)
        }
    }

    /// Waits for one connection.
    ///
    /// - Returns: its descriptor, which the caller has to close; nil when the listener is closed.
    private func acceptOne(
        _ socket: ListeningSocket, _ backoff: inout Backoff, _ generator: inout SystemRandomNumberGenerator
    ) async -> (Int32, SocketAddress)? {
        while !isStopping {
            do throws(SystemError) {
                switch try socket.accept() {
                case .connection(let descriptor, let peer):
                    backoff.reset()
                    return (descriptor.release(), peer)
                case .wouldBlock: await socket.acceptable.wait()
                case .exhausted(let error):
                    core.observability.log.write([.acceptFailed(error)])
                    await loop.wait(until: (.now + backoff.next(using: &generator)).nanoseconds)
                }
            } catch {
                core.observability.log.write([.acceptFailed(error)])
                await loop.wait(until: (.now + backoff.next(using: &generator)).nanoseconds)
            }
        }
        return nil
    }

    /// Admits a new connection if there is a place, or refuses it.
    private func seat(_ descriptor: Int32, _ peer: SocketAddress, on terms: Listener.Terms) async {
        let origin = PeerOrigin(peer, core.configuration, mayBeBalancer: terms.isForBalancers)
        connectionNumber += 1
        let number = connectionNumber
        switch core.transport.limits.withLock({ $0.arrive(number, from: origin.network) }) {
        case .admitted(let evicted):
            core.observability.metrics.accepted.add()
            if let evicted { await evict(evicted) }
            await permits.acquire()
            guard !isStopping else { return leave(number, closing: descriptor) }
            core.transport.limits.withLock { $0.begin(number) }
            begin(number, descriptor, from: origin, on: terms)
        case .refused(let shortage, let isTold):
            core.observability.metrics.refused(shortage)
            if isTold { return begin(number, descriptor, from: origin, on: terms, refusal: shortage.fault) }
            close(descriptor)
            core.observability.log.write([.protocolError(peer: origin.name, shortage.fault)])
        }
    }

    /// - Parameter refusal: what the client receives instead of service; nil if it is served.
    private func begin(
        _ number: Int, _ descriptor: Int32, from origin: PeerOrigin, on terms: Listener.Terms,
        refusal: ProtocolFault? = nil
    ) {
        let loop = loops[number % loops.count]
        let wasRefused = refusal != nil
        let connection = AcceptedConnection(number, from: origin, on: terms, loop: loop, core, refusal: refusal) {
            await self.over(number, wasRefused: wasRefused)
        }
        connections[number] = connection
        if !wasRefused { core.observability.connections.add(connection.progress) }
        Task(executorPreference: loop) { await connection.run(descriptor) }
    }

    /// Ends a connection to make room for a new one. Its place is free at once, and its descriptor is closed when this returns: otherwise a
    /// flood of connections would be accepted faster than closed.
    private func evict(_ victim: ConnectionLimits.Victim) async {
        core.observability.metrics.refused(victim.shortage)
        permits.release()
        await connections[victim.number]?.evict(for: victim.shortage.fault)
    }

    private func over(_ number: Int, wasRefused: Bool) {
        connections[number] = nil
        core.observability.connections.remove(number)
        if wasRefused { core.transport.limits.withLock { $0.refused() } } else { leave(number) }
        ended.fire()
        letPartsGo()
        guard connections.isEmpty else { return }
        runInBackground { core in
            core.intake.forgetUnfinished()
            core.intake.known.index()
        }
    }

    /// Runs a job on the pool, unless the server is stopping. `shutDown` keeps the directory's lock until the job has ended.
    private func runInBackground(_ job: @escaping @Sendable (ServerCore) -> Void) {
        guard !isStopping else { return }
        backgroundJobs += 1
        Task(executorPreference: loop) { await self.finish(job) }
    }

    private func finish(_ job: @escaping @Sendable (ServerCore) -> Void) async {
        await core.transport.pool.run { [core] in job(core) }
        backgroundJobs -= 1
        ended.fire()
    }

    /// - Parameter descriptor: the socket to close if the connection was never begun; nil for a connection that has closed its socket.
    private func leave(_ number: Int, closing descriptor: Int32? = nil) {
        if let descriptor { close(descriptor) }
        if core.transport.limits.withLock({ $0.leave(number) }) { permits.release() }
    }

    /// Removes multipart uploads from memory, `keepParts` after their last connection has gone.
    private func letPartsGo() {
        guard !core.intake.multiparts.isEmpty, !isStopping else { return }
        let deserted = MonotonicTime.now
        let moment = deserted + core.configuration.keepParts
        _ = loop.schedule(at: moment.nanoseconds) { [weak self] in
            self?.assumeIsolated { server in
                server.runInBackground { $0.intake.multiparts.letGo(desertedUpTo: deserted.nanoseconds) }
            }
        }
    }

    /// How often a server checks whether another machine has taken its directory. `Committer` checks after each sync as well, so even
    /// between two checks nothing is acknowledged that the other server does not know of.
    private static let lockInterval = Interval.seconds(1)

    /// Ends the process if another machine has taken the directory: this server must not touch it any more, and cannot finish any upload.
    private func watchLock() {
        guard core.isHeld != nil else { return }
        _ = loop.schedule(at: (MonotonicTime.now + Self.lockInterval).nanoseconds) { [weak self] in
            self?.assumeIsolated { server in
                server.runInBackground { $0.endUnlessHeld() }
                server.watchLock()
            }
        }
    }

    /// How often the server looks for old unfinished uploads, deliveries and trash: the longest and the shortest interval.
    private static let expiryInterval = (longest: Interval.seconds(3600), shortest: Interval.seconds(10))

    private func scheduleExpiry() {
        let settings = core.transport.settings
        let keep = min(settings.keepUnfinished, settings.keepMail, settings.keepTrash)
        let interval = max(Self.expiryInterval.shortest, min(keep, Self.expiryInterval.longest))
        _ = loop.schedule(at: (MonotonicTime.now + interval).nanoseconds) { [weak self] in
            self?.assumeIsolated { server in
                guard !server.isStopping else { return }
                server.runInBackground { core in
                    core.expire(leftovers: false)
                    core.sweep()
                    core.renewBrowserCertificate()
                }
                server.scheduleExpiry()
            }
        }
    }
}
