import Glibc

/// A value under a lock, with a condition variable, for threads that wait until another one has changed it.
///
/// `state` is accessed through a pointer: waiting releases the lock in the middle of a function, which the runtime's
/// check of exclusive access would report as a conflict.
///
/// `@unchecked Sendable`: `state` is accessed only with the lock held.
package final class Monitor<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private let value: UnsafeMutablePointer<State>

    package init(_ initial: State) {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        // Waits with a deadline use the clock that never jumps (pthread_condattr_setclock(3)).
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// The value, to be accessed with the lock held, one access at a time.
    package var state: State {
        _read { yield value.pointee }
        _modify { yield &value.pointee }
    }

    /// Calls `body` with the lock held.
    package func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    package func lock() {
        pthread_mutex_lock(mutex)
    }

    package func unlock() {
        pthread_mutex_unlock(mutex)
    }

    /// Releases the lock until another thread wakes this one; wake-ups may be spurious.
    package func wait() {
        pthread_cond_wait(condition, mutex)
    }

    /// Releases the lock until another thread wakes this one, or until a time has come; wake-ups may be spurious.
    ///
    /// - Parameter deadline: nanoseconds of the monotonic clock, as from `monotonicDeadline`; `Int64.max` for no limit.
    /// - Returns: false if the time has come.
    package func wait(until deadline: Int64) -> Bool {
        guard deadline < .max else {
            wait()
            return true
        }
        let (seconds, nanoseconds) = max(0, deadline).quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        return pthread_cond_timedwait(condition, mutex, &time) != ETIMEDOUT
    }

    package func wakeOne() {
        pthread_cond_signal(condition)
    }

    package func wakeAll() {
        pthread_cond_broadcast(condition)
    }
}
