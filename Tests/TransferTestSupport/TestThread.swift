import Glibc
import TransferSystem

/// A thread for the blocking calls of a test. On Swift's own threads, one for each core, these calls would block the
/// tasks that they wait for.
package final class TestThread: Sendable {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private let thread: pthread_t
    private let isJoined = Locked(false)

    package init(_ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(Body(body)).toOpaque())
        precondition(code == 0, "pthread_create: \(String(cString: strerror(code)))")
        self.thread = thread
    }

    /// Detaches a thread that was not joined, so that it is freed when it ends.
    deinit {
        if !isJoined.withLock({ $0 }) { pthread_detach(thread) }
    }

    /// Waits for the end of the thread. May be called once.
    package func join() {
        isJoined.withLock { $0 = true }
        pthread_join(thread, nil)
    }

    /// Runs `body` on a new thread and returns its result.
    package static func run<T>(_ body: @escaping @Sendable () throws -> sending T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            _ = TestThread {
                do { continuation.resume(returning: try body()) } catch { continuation.resume(throwing: error) }
            }
        }
    }
}
