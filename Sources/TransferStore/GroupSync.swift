import Glibc
import TransferSystem

/// Syncs a file system for everybody who waits for it: one call at a time, and each covers all who came before it began.
///
/// The kernel tells each descriptor of a failure once, whoever's bytes they were. That is why all calls go through one
/// descriptor and do not overlap, and why a failure counts for all that was staged before it, waiting or not.
///
/// `@unchecked Sendable`: `state` is only touched with `lock` held.
final class GroupSync: @unchecked Sendable {
    private struct State {
        /// Callers so far, and those of them that are covered.
        var asked = 0
        var covered = 0
        var isRunning = false
        var failures = 0
        var lastError: SystemError?
    }

    private let sync: @Sendable () throws(SystemError) -> Void
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let hasEnded: UnsafeMutablePointer<pthread_cond_t>
    // Unchecked, because waiting on the condition gives the lock up in the middle of a function, which the runtime's check
    // of exclusive access does not understand: under -O it ends the process.
    @exclusivity(unchecked) private var state = State()

    /// - Parameter sync: makes all of a file system durable, always by the same descriptor.
    init(_ sync: @escaping @Sendable () throws(SystemError) -> Void) {
        self.sync = sync
        lock = .allocate(capacity: 1)
        hasEnded = .allocate(capacity: 1)
        pthread_mutex_init(lock, nil)
        pthread_cond_init(hasEnded, nil)
    }

    deinit {
        pthread_cond_destroy(hasEnded)
        pthread_mutex_destroy(lock)
        hasEnded.deallocate()
        lock.deallocate()
    }

    /// Calls that failed so far. What is staged keeps the number of its time.
    var failures: Int {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return state.failures
    }

    /// Those who have asked so far; for tests.
    var asked: Int {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return state.asked
    }

    /// - Throws: when a call has failed since there were so many failures.
    func check(since failures: Int) throws(SystemError) {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        if state.failures != failures, let error = state.lastError { throw error }
    }

    /// Returns when everything written before is durable.
    ///
    /// - Parameter failures: as many as there were before the first byte was written.
    func run(since failures: Int) throws(SystemError) {
        pthread_mutex_lock(lock)
        state.asked += 1
        let turn = state.asked
        while state.covered < turn {
            if state.isRunning { pthread_cond_wait(hasEnded, lock) } else { lead() }
        }
        pthread_mutex_unlock(lock)
        try check(since: failures)
    }

    /// Makes the call for all who have asked by now. The lock is held before and after.
    private func lead() {
        let turn = state.asked
        state.isRunning = true
        pthread_mutex_unlock(lock)
        let failure = failure()
        pthread_mutex_lock(lock)
        if let failure {
            state.failures += 1
            state.lastError = failure
        }
        state.isRunning = false
        state.covered = turn
        pthread_cond_broadcast(hasEnded)
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
