internal import TransferIO
private import TransferModel
internal import TransferServer
private import TransferSystem

/// Runs a server until a signal stops it, and reports its state to the service manager. Runs on the server's first
/// loop.
actor ServerLifetime {
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let server: Server
    private let notifier: ServiceNotifier?
    private let reload: ServeReload
    private let loop: EventLoop
    private var arrived: Signal?
    /// Fires at a SIGHUP that asks the server to reread files.
    private var requests: Signal?
    private var isOver = false
    private var isStopping = false

    /// - Parameter reload: rereads the settings at SIGHUP.
    init(_ server: Server, _ notifier: ServiceNotifier?, _ reload: ServeReload) {
        self.server = server
        self.reload = reload
        self.notifier = notifier
        loop = server.loop
        unownedExecutor = loop.asUnownedSerialExecutor()
    }

    /// Serves until the first signal. After it, running uploads may finish; a second signal ends them.
    ///
    /// - Parameter whenListening: called when clients can connect.
    func run(_ whenListening: () -> Void) async throws(ServerError) {
        // This comes before any connection is accepted, because many connections can use up all descriptors.
        let signals = try makeSignals()
        defer { signals.close() }
        let endpoints = try await server.start()
        whenListening()
        let status = "Listening on \(endpoints.map { $0.description.escapedForDisplay }.joined(separator: ", "))"
        notifier?.ready(status)
        if let interval = notifier?.watchdogInterval {
            Task(executorPreference: loop) { await self.calmWatchdog(every: interval) }
        }
        arrived = signals.arrived
        requests = signals.reload
        Task(executorPreference: loop) { await self.reloadWhenAsked(status) }
        await signals.arrived.wait()
        isStopping = true
        notifier?.stopping("Letting running uploads finish")
        Task(executorPreference: loop) { await self.shutDown() }
        while true {
            await signals.arrived.wait()
            if isOver { break }
            await server.stopConnections()
        }
    }

    private func makeSignals() throws(ServerError) -> ExitSignals {
        do throws(SystemError) {
            return try ExitSignals(loop: loop, hangUp: true)
        } catch {
            throw ServerError("Cannot wait for signals: \(error).")
        }
    }

    /// - Parameter status: the status text that the service manager gets again after a reload.
    private func reloadWhenAsked(_ status: String) async {
        while let requests {
            await requests.wait()
            guard !isStopping else { return }
            notifier?.reloading()
            await reload.run(server)
            if !isStopping { notifier?.ready(status) }
        }
    }

    private func shutDown() async {
        await server.shutDown()
        isOver = true
        arrived?.fire()
    }

    /// Answers the service manager's watchdog, as long as every loop responds.
    private func calmWatchdog(every interval: Int64) async {
        while !isOver {
            await server.visitLoops()
            notifier?.alive()
            await loop.wait(until: monotonicDeadline(after: interval))
        }
    }
}
