import Glibc
import TransferSystem

/// Keeps uploads and links from taking a name between a look at it and the rename(2) that gives it to a moved entry and would replace
/// them. Other programs can still take it there.
///
/// `@unchecked Sendable`: the lock is made for threads, and its pointer never changes.
final class FreeNames: @unchecked Sendable {
    /// Shared by all calls that create a name and fail if it is taken. Writers come first, so that a stream of uploads keeps no move
    /// waiting; therefore no call may be made inside another one.
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_rwlockattr_t()
        pthread_rwlockattr_init(&attributes)
        pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        pthread_rwlock_init(lock, &attributes)
        pthread_rwlockattr_destroy(&attributes)
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    /// Runs a call that creates a name, and fails if the name is taken.
    func create<Value>(_ body: () throws(SystemError) -> Value) throws(SystemError) -> Value {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Looks at a name and takes it, while no `create` runs.
    func takeAlone(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        try body()
    }
}
