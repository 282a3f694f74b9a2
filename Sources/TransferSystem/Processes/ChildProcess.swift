package import Glibc

/// A child process, which runs this program or another one. `/proc/self/exe` is the running file itself, even if its name
/// now belongs to another file.
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

    package static let program = "/proc/self/exe"

    package let number: pid_t

    /// Runs this program with the same arguments.
    ///
    /// - Parameters:
    ///   - descriptors: descriptors that the child inherits under the same numbers, in addition to those without the
    ///     close-on-exec flag.
    ///   - blocked: signals that are blocked when the child starts.
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
        // The child has a separate process group, so that the terminal's signals reach only this process, which
        // forwards each of them once.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP))
        var process = pid_t()
        let code = posix_spawn(&process, Self.program, &actions, &attributes, CommandLine.unsafeArgv, environ)
        guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn") }
        number = process
    }

    /// Runs a program with nothing of this process but some descriptors, and without signals that are blocked or
    /// ignored. Every other descriptor of this process must have the close-on-exec flag, or the program has to close it.
    ///
    /// - Parameters:
    ///   - program: its path, and its arguments.
    ///   - environment: as `NAME=VALUE`.
    ///   - descriptors: become the program's descriptors 0, 1 and so on; each is larger than that number.
    package init(running program: [String], environment: [String], descriptors: [Int32]) throws(SystemError) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (place, number) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, number, Int32(place))
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (blocked, usual) = (SignalQueue.set([]), SignalQueue.set([SIGPIPE, SIGCHLD, SIGHUP]))
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        // The terminal's signals are for the server.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))
        var arguments = program.map { strdup($0) } + [nil]
        var variables = environment.map { strdup($0) } + [nil]
        defer { for text in arguments + variables { free(text) } }
        guard let path = arguments[0] else { throw SystemError(errno: EINVAL, call: "posix_spawn") }
        var process = pid_t()
        let code = posix_spawn(&process, path, &actions, &attributes, &arguments, &variables)
        guard code == 0 else { throw SystemError(errno: code, call: "posix_spawn") }
        number = process
    }

    /// - Returns: the way in which the process ended; nil while it is running.
    package func end() -> End? {
        var status: Int32 = 0
        while true {
            let code = waitpid(number, &status, WNOHANG)
            if code == number { return End(status) }
            guard code < 0, errno == EINTR else { return nil }
        }
    }

    /// Waits until the process has ended.
    @discardableResult
    package func waitForEnd() -> End? {
        var status: Int32 = 0
        guard (try? system("waitpid") { waitpid(number, &status, 0) }) != nil else { return nil }
        return End(status)
    }

    /// Sends a signal. Must not be called after `end` has returned a value, because the number may then belong to
    /// another process.
    package func send(_ signal: Int32) {
        kill(number, signal)
    }
}
