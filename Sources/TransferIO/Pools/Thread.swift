internal import CLinux
import Glibc
package import TransferSystem

/// Runs `body` on a new detached thread.
///
/// - Parameter name: shown by tools such as `top -H`; 15 bytes at most (prctl(2), PR_SET_NAME).
/// - Throws: when the system has no thread to give.
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
    /// By how many levels `lower` lowers a priority. When two threads share a processor and their priorities differ by ten levels, the
    /// lower one gets about a tenth of the time of the other (sched(7)).
    private static let levels: Int32 = 10

    /// The least priority (setpriority(2)).
    private static let least: Int32 = 19

    private static let kind = __priority_which_t(PRIO_PROCESS.rawValue)

    /// The priority of the calling thread. The threads that it starts inherit this priority.
    static var current: Int32 { getpriority(kind, 0) }

    /// Lowers the priority of the calling thread for good: only a privileged thread may raise it again (setpriority(2)).
    static func lower() {
        // The process number 0 stands for the calling thread.
        setpriority(kind, 0, min(current + levels, least))
    }
}
