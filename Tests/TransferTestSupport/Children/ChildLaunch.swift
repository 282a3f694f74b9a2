import CSpawn
package import Glibc

/// Starts a program for a test.
///
/// A child gets the descriptors that are named and no other, the default action for every signal, and no blocked signal,
/// whatever the process of the tests has. A descriptor that it inherits by chance would keep the other end of a pipe
/// waiting for as long as the child lives, and under nohup(1) SIGHUP would end no child.
///
/// A child stays in the process group of the tests unless it leads a session: so Ctrl-C ends it together with them.
package struct ChildLaunch: Sendable {
    /// A program could not be started.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Lines as of environ(7); nil for those of the tests.
    package var environment: [String]?

    /// The child's number of each descriptor, and the number that it has here. The others of the standard streams are closed.
    package var descriptors: [Int32: Int32]

    /// Whether it leads a new session, without a terminal.
    package var leadsSession = false

    /// The standard streams of this process.
    package static let standardStreams: [Int32: Int32] = [0: 0, 1: 1, 2: 2]

    package init(descriptors: [Int32: Int32] = Self.standardStreams, environment: [String]? = nil) {
        self.descriptors = descriptors
        self.environment = environment
    }

    /// Starts it. Its caller waits for it.
    ///
    /// - Parameter command: the path of the program, and its arguments.
    package func start(_ command: [String]) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // Above all numbers that the child gets, so that none is overwritten before it is copied.
        let end = (descriptors.keys.max() ?? -1) + 1
        var copies: [Int32] = []
        defer { for copy in copies { close(copy) } }
        for number in 0..<max(end, STDERR_FILENO + 1) {
            guard let source = descriptors[number] else {
                posix_spawn_file_actions_addclose(&actions, number)
                continue
            }
            let copy = fcntl(source, F_DUPFD_CLOEXEC, max(end, STDERR_FILENO + 1))
            guard copy >= 0 else { throw Failure(description: "descriptor \(source): errno \(errno)") }
            copies.append(copy)
            posix_spawn_file_actions_adddup2(&actions, copy, number)
        }
        cspawn_close_from(&actions, max(end, STDERR_FILENO + 1))
        return try start(command, &actions)
    }

    private func start(_ command: [String], _ actions: inout posix_spawn_file_actions_t) throws(Failure) -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let session = leadsSession ? cspawn_new_session : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session)
        var process = pid_t()
        let code = withCStrings(command) { arguments in
            guard let environment else {
                return posix_spawn(&process, command[0], &actions, &attributes, arguments, environ)
            }
            return withCStrings(environment) {
                posix_spawn(&process, command[0], &actions, &attributes, arguments, $0)
            }
        }
        guard code == 0 else {
            throw Failure(description: "posix_spawn \(command[0]): \(String(cString: strerror(code)))")
        }
        return process
    }

    /// Runs a command of the shell to its end, with the standard streams of the tests, as system(3) does.
    ///
    /// - Returns: its exit code, or that of a shell for what a signal has ended: 128 and the signal.
    /// - Throws: when it does not start, or does not end.
    package static func shell(_ command: String) throws -> Int32 {
        switch try Child(["/bin/sh", "-c", command], Self()).wait() {
        case .exited(let code): code
        case .killed(let signal): 128 + signal
        }
    }
}

private func withCStrings<T>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> T) -> T {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
