import Glibc

/// Lets threads of a pool block until the test allows them to go on. No wait takes longer than `patience`, so a test
/// that waits in vain fails instead of hanging.
///
/// `@unchecked Sendable`: semaphores are made to be shared (sem_overview(7)).
final class Gate: @unchecked Sendable {
    private static let patience = 180
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() {
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Lets `count` waiting or later callers pass.
    func open(_ count: Int = 1) {
        for _ in 0..<count { sem_post(semaphore) }
    }

    /// - Returns: false if the gate was not opened in time.
    func pass() -> Bool {
        var deadline = timespec()
        clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += Self.patience
        while sem_timedwait(semaphore, &deadline) != 0 {
            if errno != EINTR { return false }
        }
        return true
    }
}
