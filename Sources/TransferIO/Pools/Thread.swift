internal import CLinux
import Glibc
package import TransferSystem

/// Runs `body` on a new detached thread.
///
/// - Parameter name: shown by tools such as `top -H`; at most 15 bytes (prctl(2), PR_SET_NAME).
/// - Throws: an error if the system cannot start another thread.
package func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    let context = Unmanaged.passRetained(ThreadBody(name: name, body: body))
    var thread = pthread_t()
    let code = pthread_create(&thread, nil, runThread, context.toOpaque())
    guard code == 0 else {
        context.release()
        throw SystemError(errno: code, call: "pthread_create")
    }
    pthread_detach(thread)
}

private final class ThreadBody: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

private func runThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let thread = Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
    clinux_set_thread_name(thread.name)
    thread.body()
    return nil
}

/// Priorities of threads, in levels of nice(2).
enum ThreadPriority {
    /// Levels by which `lower` lowers the priority. If two threads share a processor and their priorities differ by ten
    /// levels, the lower one gets about a tenth of the other's time (sched(7)).
    private static let levels: Int32 = 10

    /// The lowest priority (setpriority(2)).
    private static let least: Int32 = 19

    private static let kind = __priority_which_t(PRIO_PROCESS.rawValue)

    /// Priority of the calling thread, which new threads inherit.
    static var current: Int32 { getpriority(kind, 0) }

    /// Lowers the priority of the calling thread permanently: only a privileged thread may raise it (setpriority(2)).
    static func lower() {
        // Process ID 0 means the calling thread.
        setpriority(kind, 0, min(current + levels, least))
    }
}
