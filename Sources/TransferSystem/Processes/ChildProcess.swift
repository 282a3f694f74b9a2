package import Glibc

/// A child process with this program and the same arguments. `/proc/self/exe` is the running file itself, even if its
/// name belongs to another one now.
package struct ChildProcess: Sendable {
    /// The way in which a process ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)

        init(_ status: Int32) {
            // wait(2): the low seven bits are the signal, and zero means an exit.
            self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: status & 0x7F)
        }
    }

    private static let program = "/proc/self/exe"

    package let number: pid_t

    /// - Parameters:
    ///   - descriptors: inherited under the same numbers, besides those that are not closed on exec.
    ///   - blocked: signals that are blocked in the child at first.
    package init(passing descriptors: [Int32], blocked: [Int32]) throws(SystemError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Duplicating a descriptor to itself clears its close-on-exec flag.
        for number in descriptors { posix_spawn_file_actions_adddup2(&actions, number, number) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = SignalQueue.set(blocked)
        posix_spawnattr_setsigmask(&attributes, &mask)
        // A separate process group: the terminal's signals reach only this process, which forwards each once.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var process = pid_t()
        let code = posix_spawn(&process, Self.program, &actions, &attributes, CommandLine.unsafeArgv, environ)
        guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn") }
        number = process
    }

    /// - Returns: nil while it is running.
    package func end() -> End? {
        var status: Int32 = 0
        while true {
            let code = waitpid(number, &status, WNOHANG)
            if code == number { return End(status) }
            guard code < 0, errno == EINTR else { return nil }
        }
    }

    /// Sends a signal; the end of the process must not have been collected yet.
    package func send(_ signal: Int32) {
        kill(number, signal)
    }
}
