import Glibc

/// Runs another program, without a shell, and waits for it.
package enum ChildProgram {
    /// Runs a program. Its name is searched as in a shell (posix_spawnp(3)): in PATH if it contains no slash. The
    /// program gets no arguments and no blocked signals, `input` on standard input, and this process's standard error
    /// as its standard output.
    ///
    /// - Parameter input: the text for the program's standard input.
    /// - Returns: the way in which the program ended.
    /// - Throws: the reason why the program could not be started.
    package static func run(_ program: String, input: [UInt8]) throws(SystemError) -> ChildProcess.End {
        var ends: [Int32] = [-1, -1]
        try system("pipe") { pipe(&ends) }
        let source = Descriptor(ends[0])
        let sink = Descriptor(ends[1])
        // If another thread starts a program before this line, that program inherits the pipe, and this program's input
        // ends only when that one has ended.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let process = try start(program, reading: source.number)
        closeEnd(source)
        // Writing fails if the program has ended without reading everything, which is not an error.
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
