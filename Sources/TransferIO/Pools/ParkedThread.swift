import Glibc

/// A place where one thread sleeps until another thread wakes it. A condition variable would wake any thread that waits
/// on it, and that thread must then take the lock again. Here the pool chooses the thread, and the thread needs no
/// lock.
///
/// `@unchecked Sendable`: any thread may use a semaphore (sem_overview(7)).
final class ParkedThread: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        // Fails only for an invalid value (sem_init(3)).
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Sleeps until `wake` is called; returns at once if it was called before.
    func sleep() {
        // Fails only if a signal interrupts it (sem_wait(3)).
        while sem_wait(semaphore) != 0 {}
    }

    func wake() {
        sem_post(semaphore)
    }
}
