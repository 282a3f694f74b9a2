import Glibc
import TransferIO
import TransferModel
import TransferProtocol
package import TransferSystem

/// Holds a server's listening sockets and keeps a worker running behind them, which is this program once more. While one
/// has died and the next one starts, connections wait in the kernel's queue. It has one thread, knows nothing of clients,
/// and reads no byte of theirs, so what ends a worker leaves it standing.
package struct Supervisor: ~Copyable {
    /// Why it ends.
    package enum End: Equatable, Sendable {
        /// The worker ended by itself.
        case exited(Int32)
        /// A signal ended it when it was already told to stop.
        case killed(by: Int32)
        /// It was told to stop while no worker ran.
        case stopped
    }

    /// How long to wait before the next worker, after those that died soon.
    private static let waits = (first: Interval.milliseconds(20), longest: Interval.seconds(2))

    /// A worker that has lived so long has not died of how it was started.
    private static let longLife = Interval.seconds(10)

    private let sockets: [ServerSocket]
    private let reports: CrashReports
    private let agent: String
    private let relay: NotificationRelay?
    private let lock: Int32?
    private let signals: SignalQueue
    private var worker: ChildProcess?
    private var report: Descriptor?
    private var begun = MonotonicTime.now
    private var nextStart = MonotonicTime.now
    private var backoff = Backoff(first: waits.first, longest: waits.longest)
    private var generator = SystemRandomNumberGenerator()
    private var isStopping = false
    private var restarts = 0
    private var lastSignal: Int32?

    /// - Parameters:
    ///   - sockets: become the supervisor's.
    ///   - directory: the server's, for reports.
    ///   - agent: the program and its version.
    ///   - relay: to the service manager, where there is one.
    ///   - lock: a descriptor of the directory's lock, for all workers; becomes the supervisor's.
    /// - Throws: when signals cannot be waited for.
    package init(
        sockets: [ServerSocket], directory: String, agent: String, relay: NotificationRelay?, lock: Int32? = nil
    ) throws(SystemError) {
        self.sockets = sockets
        self.agent = agent
        self.relay = relay
        self.lock = lock
        reports = CrashReports(of: directory)
        signals = try SignalQueue([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    }

    /// Supervises until the worker ends by itself, or is told to.
    ///
    /// - Throws: when no worker can be started.
    package mutating func run() throws(SystemError) -> End {
        defer { closeSockets() }
        while true {
            if worker == nil {
                if isStopping { return .stopped }
                if MonotonicTime.now >= nextStart { try startOrWait() }
            }
            wait()
            while let signal = signals.next() { receive(signal) }
            if let end = reap() { return end }
        }
    }

    /// A system that has no process or memory to give now may have it later; only the first worker has to start at once.
    private mutating func startOrWait() throws(SystemError) {
        do throws(SystemError) {
            try start()
        } catch {
            guard restarts > 0 else { throw error }
            nextStart = .now + backoff.next(using: &generator)
        }
    }

    private mutating func start() throws(SystemError) {
        let file = try CrashHandler.makeFile()
        var orders = WorkerOrders(supervisor: getpid(), report: file.number)
        orders.notifications = relay?.workerEnd
        orders.listeners = sockets.map { WorkerOrders.Listener($0.socket.number, mark: $0.use?.mark) }
        (orders.restarts, orders.lastSignal) = (restarts, lastSignal)
        orders.lock = lock
        setenv(WorkerOrders.variable, orders.text, 1)
        defer { unsetenv(WorkerOrders.variable) }
        let descriptors =
            [orders.report] + [orders.notifications, lock].compactMap(\.self)
            + orders.listeners.map(\.number)
        worker = try ChildProcess(passing: descriptors, blocked: [SIGTERM, SIGINT, SIGHUP])
        report = consume file
        begun = .now
    }

    /// Until a signal comes, the worker has something for the service manager, or it is time for the next one.
    private func wait() {
        var entries = [pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0)]
        if let relay { entries.append(pollfd(fd: relay.number, events: Int16(POLLIN), revents: 0)) }
        var milliseconds: Int32 = -1
        if worker == nil {
            let left = max(0, (nextStart - .now).nanoseconds)
            milliseconds = Int32(clamping: left / 1_000_000 + 1)
        }
        // An interrupted wait is a short one.
        _ = poll(&entries, nfds_t(entries.count), milliseconds)
        relay?.pass(isStopping: isStopping)
    }

    private mutating func receive(_ signal: SignalQueue.Arrival) {
        switch signal.number {
        case SIGCHLD: break
        // A terminal that has hung up asks for the end, a program for reading files again.
        case SIGHUP where signal.isSent: worker?.send(SIGHUP)
        case SIGHUP: if !SignalQueue.isIgnored(SIGHUP) { stop(SIGTERM) }
        default: stop(signal.number)
        }
    }

    /// Nobody else gets in, as with a server that nobody supervises.
    private mutating func stop(_ signal: Int32) {
        isStopping = true
        closeSockets()
        worker?.send(signal)
    }

    private func closeSockets() {
        for socket in sockets { socket.socket.close() }
    }

    private mutating func reap() -> End? {
        guard let process = worker, let end = process.end() else { return nil }
        worker = nil
        relay?.pass(isStopping: isStopping)
        switch end {
        // A worker that was asked to end by somebody else, as of the kernel's helpers when memory runs short.
        case .exited(0) where !isStopping:
            keepReport(of: process.number, SIGTERM)
            died(of: SIGTERM)
            return nil
        case .exited(let code): return .exited(code)
        case .killed(let signal):
            keepReport(of: process.number, signal)
            guard !isStopping else { return .killed(by: signal) }
            died(of: signal)
            return nil
        }
    }

    private mutating func died(of signal: Int32) {
        (restarts, lastSignal) = (restarts + 1, signal)
        if MonotonicTime.now - begun >= Self.longLife { backoff.reset() }
        nextStart = .now + backoff.next(using: &generator)
        relay?.say("STATUS=Starting again after \(SignalName.of(signal))")
    }

    /// What cannot be written is lost; the next worker is needed more.
    private mutating func keepReport(of process: pid_t, _ signal: Int32) {
        var words: [UInt8] = []
        if let file = report.take() { words = CrashHandler.report(in: file) }
        let kept = CrashReport(
            time: time(nil), signal: signal, process: process, agent: agent,
            seconds: Int((MonotonicTime.now - begun).seconds), words: words)
        try? reports.keep(kept)
    }
}
