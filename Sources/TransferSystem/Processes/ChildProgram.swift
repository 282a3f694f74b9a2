import Glibc

/// Runs another program, without a shell, and waits for it.
package enum ChildProgram {
    /// Runs a program found as by a shell (posix_spawnp(3)): a name without a slash is searched in PATH. It gets no
    /// arguments, no blocked signals, a text on standard input, and this process's standard error as output.
    ///
    /// - Parameter input: the text on its standard input.
    /// - Returns: the way in which it ended.
    /// - Throws: the reason why it could not be started.
    package static func run(_ program: String, input: [UInt8]) throws(SystemError) -> ChildProcess.End {
        var ends: [Int32] = [-1, -1]
        try system("pipe") { pipe(&ends) }
        let source = Descriptor(ends[0])
        let sink = Descriptor(ends[1])
        // Another program started in between inherits the pipe, which only makes this one wait for its end.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let process = try start(program, reading: source.number)
        closeEnd(source)
        // Fails if the program has ended without reading everything.
        try? writeAll(input, to: sink.number)
        closeEnd(sink)
        var status: Int32 = 0
        try system("waitpid") { waitpid(process, &status, 0) }
        return ChildProcess.End(status)
    }

    private static func closeEnd(_ descriptor: consuming Descriptor) { _ = consume descriptor }

    private static func start(_ program: String, reading input: Int32) throws(SystemError) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (blocked, usual) = (SignalQueue.set([]), SignalQueue.set([SIGPIPE]))
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setsigdefault(&attributes, &usual)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var process = pid_t()
        let code = program.withCString { name in
            var arguments: [UnsafeMutablePointer<CChar>?] = [UnsafeMutablePointer(mutating: name), nil]
            return posix_spawnp(&process, name, &actions, &attributes, &arguments, environ)
        }
        guard code == 0 else { throw SystemError(errno: code, call: "posix_spawnp") }
        return process
    }
}
