import Glibc
import TransferSystem

/// Hands pieces to a thread that waits for them.
///
/// `@unchecked Sendable`: the semaphore is made for threads, and the rest is a mutex.
final class Gate: @unchecked Sendable {
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
    private let pieces = Locked<[[UInt8]?]>([])

    init() {
        sem_init(semaphore, 0, 0)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    /// - Parameter piece: nil for the end.
    func put(_ piece: [UInt8]?) {
        pieces.withLock { $0.append(piece) }
        sem_post(semaphore)
    }

    /// Waits for a piece without blocking a thread of the tests.
    func wait() async {
        await withCheckedContinuation { continuation in
            onThread { [self] in
                _ = take()
                continuation.resume()
            }
        }
    }

    /// Blocks until a piece is available.
    func take() -> [UInt8]? {
        while sem_wait(semaphore) != 0 {}
        return pieces.withLock { $0.removeFirst() }
    }
}
