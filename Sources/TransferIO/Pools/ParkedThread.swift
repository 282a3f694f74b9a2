import Glibc

/// Where one thread sleeps until another wakes it. A condition that several wait for wakes any of them, and takes its lock again
/// for each: who is woken here is chosen, and finds the lock free.
///
/// `@unchecked Sendable`: a semaphore may be used by any thread (sem_overview(7)).
final class ParkedThread: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        // Fails only for a value beyond the bounds (sem_init(3)).
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// Sleeps until `wake` was called, also before this.
    func sleep() {
        // Interrupted by a signal, and by nothing else (sem_wait(3)).
        while sem_wait(semaphore) != 0 {}
    }

    func wake() {
        sem_post(semaphore)
    }
}
