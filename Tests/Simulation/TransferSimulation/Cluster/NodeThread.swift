import TransferIO
import TransferSystem

/// The thread of one simulated server. It and the world run in turns, never at the same time, so that a seed is always
/// played in the same way.
///
///     begin ─► the job runs ─► pause, when its calls are used up ─► goOn ─► … ─► the job ends
///
/// `@unchecked Sendable`: everything but the monitor belongs to the thread whose turn it is.
final class NodeThread: @unchecked Sendable {
    private enum Turn { case world, node, over }

    private struct State {
        var turn = Turn.world
        var job: (() -> Void)?
    }

    private let monitor = Monitor(State())

    /// Whether a job has begun and not ended.
    private(set) var isBusy = false

    /// The calls that the job may still make before it waits.
    private var calls = 0

    /// - Throws: if the system cannot start a thread.
    init() throws(SystemError) {
        try startThread(name: "simulated-node") { [self] in serve() }
    }

    // MARK: The world's side

    /// Begins a job on the thread, and waits until it ends or has made some calls.
    func begin(calls: Int, _ job: @escaping () -> Void) {
        isBusy = true
        monitor.withLock { monitor.state.job = job }
        goOn(calls: calls)
    }

    /// Lets the job make some more calls.
    func goOn(calls: Int) {
        guard isBusy else { return }
        self.calls = calls
        monitor.withLock {
            monitor.state.turn = .node
            monitor.wakeAll()
            while monitor.state.turn == .node { monitor.wait() }
        }
    }

    /// Ends the thread, which has no job any more.
    func end() {
        monitor.withLock {
            monitor.state.turn = .over
            monitor.wakeAll()
        }
    }

    // MARK: The server's side

    /// Called by a job around each call to the database or to the bucket.
    func pause() {
        guard calls == 0 else {
            calls -= 1
            return
        }
        monitor.withLock {
            monitor.state.turn = .world
            monitor.wakeAll()
            while monitor.state.turn == .world { monitor.wait() }
        }
        calls = max(0, calls - 1)
    }

    private func serve() {
        while let job = next() {
            job()
            isBusy = false
            monitor.withLock {
                (monitor.state.turn, monitor.state.job) = (.world, nil)
                monitor.wakeAll()
            }
        }
    }

    private func next() -> (() -> Void)? {
        monitor.withLock {
            while monitor.state.turn == .world { monitor.wait() }
            return monitor.state.turn == .over ? nil : monitor.state.job
        }
    }
}
