import Glibc
import TransferIO
package import TransferModel
import TransferProtocol
package import TransferSystem

/// Holds a server's listening sockets and keeps a worker running behind them, which is another process of this program. While a worker has
/// died and the next one starts, connections wait in the kernel's queue. The supervisor has one thread and reads no byte from clients, so
/// that what ends a worker does not end it.
package struct Supervisor: ~Copyable {
    /// The reason why the supervisor ends.
    package enum End: Equatable, Sendable {
        /// The worker has exited by itself.
        case exited(Int32)
        /// A signal has ended the worker after it was asked to stop.
        case killed(by: Int32)
        /// The supervisor was asked to stop while no worker ran.
        case stopped
    }

    /// Times to wait before the next worker, after workers that died soon.
    private static let waits = (first: Interval.milliseconds(20), longest: Interval.seconds(2))

    /// A worker that has lived longer than this did not die because of how it was started.
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
    /// How long the sockets stay open after the first request to stop, and until when.
    private let drainDelay: Interval
    private var closing: MonotonicTime?
    private var restarts = 0
    private var lastSignal: Int32?

    /// - Parameters:
    ///   - sockets: the supervisor owns them from now on.
    ///   - directory: the server's directory, for reports about workers.
    ///   - agent: the program and its version.
    ///   - relay: passes messages to the service manager; nil without a manager.
    ///   - lock: a descriptor of the directory's lock, for all workers; the supervisor owns it from now on.
    ///   - drainDelay: how long the worker accepts connections after it was asked to stop.
    /// - Throws: `SystemError` if signals cannot be waited for.
    package init(
        sockets: [ServerSocket], directory: String, agent: String, relay: NotificationRelay?, lock: Int32? = nil,
        drainDelay: Interval = .seconds(0)
    ) throws(SystemError) {
        self.sockets = sockets
        self.agent = agent
        self.relay = relay
        self.lock = lock
        self.drainDelay = drainDelay
        reports = CrashReports(of: directory)
        signals = try SignalQueue([SIGTERM, SIGINT, SIGHUP, SIGCHLD])
    }

    /// Supervises until a worker exits by itself, or the supervisor is asked to stop.
    ///
    /// - Throws: `SystemError` if the first worker cannot be started.
    package mutating func run() throws(SystemError) -> End {
        defer { closeSockets() }
        while true {
            if worker == nil {
                if isStopping { return .stopped }
                if MonotonicTime.now >= nextStart { try startOrWait() }
            }
            wait()
            if let closing, closing <= .now { closeSockets() }
            while let signal = signals.next() { receive(signal) }
            if let end = reap() { return end }
        }
    }

    /// Starts a worker. If a later worker cannot be started, another attempt follows, because the system may only lack memory or processes
    /// for now. The first worker has to start at once.
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

    /// Waits until a signal or a message of the worker arrives, or the next worker or the end of the drain delay is due.
    private func wait() {
        var entries = [pollfd(fd: signals.number, events: Int16(POLLIN), revents: 0)]
        if let relay { entries.append(pollfd(fd: relay.number, events: Int16(POLLIN), revents: 0)) }
        var milliseconds: Int32 = -1
        if let due = worker == nil ? nextStart : closing {
            let left = max(0, (due - .now).nanoseconds)
            milliseconds = Int32(clamping: left / 1_000_000 + 1)
        }
        // A wait that a signal interrupts counts as over.
        _ = poll(&entries, nfds_t(entries.count), milliseconds)
        relay?.pass(isStopping: isStopping)
    }

    private mutating func receive(_ signal: SignalQueue.Arrival) {
        switch signal.number {
        case SIGCHLD: break
        // A terminal that has hung up asks for the end; a process that sends SIGHUP asks to read files again.
        case SIGHUP where signal.isSent: worker?.send(SIGHUP)
        case SIGHUP: if !SignalQueue.isIgnored(SIGHUP) { stop(SIGTERM) }
        default: stop(signal.number)
        }
    }

    /// Closes the listening sockets before the worker does, so that no client waits for a server that accepts no more: at once, or, at the
    /// first request to stop, after the drain delay.
    private mutating func stop(_ signal: Int32) {
        if isStopping || drainDelay.nanoseconds <= 0 { closeSockets() } else { closing = .now + drainDelay }
        isStopping = true
        worker?.send(signal)
    }

    private mutating func closeSockets() {
        closing = nil
        for socket in sockets { socket.socket.close() }
    }

    private mutating func reap() -> End? {
        ChildProcess.reapOthers(than: worker?.number)
        guard let process = worker, let end = process.end() else { return nil }
        worker = nil
        relay?.pass(isStopping: isStopping)
        switch end {
        // Another process has asked the worker to end, such as a daemon that acts when memory is short.
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

    /// A report that cannot be written is lost: starting the next worker is more important.
    private mutating func keepReport(of process: pid_t, _ signal: Int32) {
        var words: [UInt8] = []
        if let file = report.take() { words = CrashHandler.report(in: file) }
        let kept = CrashReport(
            time: time(nil), signal: signal, process: process, agent: agent,
            seconds: Int((MonotonicTime.now - begun).seconds), words: words)
        try? reports.keep(kept)
    }
}
