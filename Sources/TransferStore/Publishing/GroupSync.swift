import TransferSystem

/// Syncs a file system for many callers: one system call at a time, each of which covers the callers that came before
/// it began.
///
/// The kernel reports a failure to each descriptor once, regardless of whose bytes were lost. So all calls go through
/// one descriptor and do not overlap, and a failure counts for everything that was staged before it, waiting or not.
final class GroupSync: Sendable {
    private struct State {
        /// The number of callers so far, and how many of them a finished call covers.
        var asked = 0
        var covered = 0
        var isRunning = false
        var failures = 0
        var lastError: SystemError?
    }

    private let sync: @Sendable () throws(SystemError) -> Void
    private let monitor = Monitor(State())

    /// - Parameter sync: syncs the file system, always by the same descriptor.
    init(_ sync: @escaping @Sendable () throws(SystemError) -> Void) {
        self.sync = sync
    }

    /// The number of failed calls. Each staged file keeps the number at the time when it was created.
    var failures: Int { monitor.withLock { monitor.state.failures } }

    /// The number of callers so far; for tests.
    var asked: Int { monitor.withLock { monitor.state.asked } }

    /// - Throws: if a call has failed since the number of failures was `failures`.
    func check(since failures: Int) throws(SystemError) {
        let error = monitor.withLock { monitor.state.failures == failures ? nil : monitor.state.lastError }
        if let error { throw error }
    }

    /// Returns when everything that was written before is durable.
    ///
    /// - Parameter failures: the number of failures before the first byte was written.
    func run(since failures: Int) throws(SystemError) {
        monitor.withLock {
            monitor.state.asked += 1
            let turn = monitor.state.asked
            while monitor.state.covered < turn {
                if monitor.state.isRunning { monitor.wait() } else { lead() }
            }
        }
        try check(since: failures)
    }

    /// Makes the call for all callers that have asked by now. The lock is held before and after.
    private func lead() {
        let turn = monitor.state.asked
        monitor.state.isRunning = true
        monitor.unlock()
        let failure = failure()
        monitor.lock()
        if let failure {
            monitor.state.failures += 1
            monitor.state.lastError = failure
        }
        monitor.state.isRunning = false
        monitor.state.covered = turn
        monitor.wakeAll()
    }

    private func failure() -> SystemError? {
        do throws(SystemError) {
            try sync()
            return nil
        } catch {
            return error
        }
    }
}
