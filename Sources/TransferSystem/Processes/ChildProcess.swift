package import Glibc

/// This program, started once more with the same arguments. `/proc/self/exe` is the very file that runs, whatever has
/// taken its name since.
package struct ChildProcess: Sendable {
    /// How a process ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(by: Int32)

        init(_ status: Int32) {
            // wait(2): the low seven bits are the signal, and none stands for an exit.
            self = status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(by: status & 0x7F)
        }
    }

    private static let program = "/proc/self/exe"

    package let number: pid_t

    /// - Parameters:
    ///   - descriptors: that it gets, under the same numbers; of the others those that are not closed on exec.
    ///   - blocked: signals that it begins with blocked.
    package init(passing descriptors: [Int32], blocked: [Int32]) throws(SystemError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // To itself: that only takes the flag away by which it would be closed.
        for number in descriptors { posix_spawn_file_actions_adddup2(&actions, number, number) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var mask = SignalQueue.set(blocked)
        posix_spawnattr_setsigmask(&attributes, &mask)
        // A group of its own: what a terminal sends comes to this process, which passes it on, once.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var process = pid_t()
        let code = posix_spawn(&process, Self.program, &actions, &attributes, CommandLine.unsafeArgv, environ)
        guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn") }
        number = process
    }

    /// - Returns: nothing while it runs.
    package func end() -> End? {
        var status: Int32 = 0
        while true {
            let code = waitpid(number, &status, WNOHANG)
            if code == number { return End(status) }
            guard code < 0, errno == EINTR else { return nil }
        }
    }

    /// Sends it a signal; it must not have been waited for.
    package func send(_ signal: Int32) {
        kill(number, signal)
    }
}
