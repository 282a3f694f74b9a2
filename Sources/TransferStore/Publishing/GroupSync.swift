import TransferSystem

/// Syncs a file system for everybody who waits for it: one call at a time, and each covers all who came before it began.
///
/// The kernel tells each descriptor of a failure once, whoever's bytes they were. That is why all calls go through one
/// descriptor and do not overlap, and why a failure counts for all that was staged before it, waiting or not.
final class GroupSync: Sendable {
    private struct State {
        /// Callers so far, and those of them that are covered.
        var asked = 0
        var covered = 0
        var isRunning = false
        var failures = 0
        var lastError: SystemError?
    }

    private let sync: @Sendable () throws(SystemError) -> Void
    private let monitor = Monitor(State())

    /// - Parameter sync: makes all of a file system durable, always by the same descriptor.
    init(_ sync: @escaping @Sendable () throws(SystemError) -> Void) {
        self.sync = sync
    }

    /// Calls that failed so far. What is staged keeps the number of its time.
    var failures: Int { monitor.withLock { monitor.state.failures } }

    /// Those who have asked so far; for tests.
    var asked: Int { monitor.withLock { monitor.state.asked } }

    /// - Throws: when a call has failed since there were so many failures.
    func check(since failures: Int) throws(SystemError) {
        let error = monitor.withLock { monitor.state.failures == failures ? nil : monitor.state.lastError }
        if let error { throw error }
    }

    /// Returns when everything written before is durable.
    ///
    /// - Parameter failures: as many as there were before the first byte was written.
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

    /// Makes the call for all who have asked by now. The lock is held before and after.
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
