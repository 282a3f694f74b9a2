import CSpawn
package import Glibc

/// Starts a program for a test.
///
/// A child gets only the given descriptors, the default action for every signal, and no blocked signal, whatever the
/// process of the tests has. A descriptor inherited by accident would keep the reader of a pipe waiting as long as the
/// child lives, and under nohup(1) SIGHUP would not end a child.
///
/// A child stays in the process group of the tests unless it leads a session, so that Ctrl-C ends the child together
/// with the tests.
package struct ChildLaunch: Sendable {
    /// A program could not be started.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The environment as lines of environ(7); nil for the environment of the tests.
    package var environment: [String]?

    /// The number of each descriptor in the child, with its number in this process. Standard streams that are not
    /// listed are closed.
    package var descriptors: [Int32: Int32]

    /// Whether the child leads a new session, without a terminal.
    package var leadsSession = false

    /// The standard streams of this process.
    package static let standardStreams: [Int32: Int32] = [0: 0, 1: 1, 2: 2]

    package init(descriptors: [Int32: Int32] = Self.standardStreams, environment: [String]? = nil) {
        self.descriptors = descriptors
        self.environment = environment
    }

    /// Starts the program. The caller has to wait for its end.
    ///
    /// - Parameter command: the path of the program, and its arguments.
    package func start(_ command: [String]) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The copies have numbers above those of the child, so that no descriptor is overwritten before it is copied.
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

    /// Runs a shell command to its end, with the standard streams of the tests, as system(3) does.
    ///
    /// - Returns: the exit code; as in a shell, 128 plus the signal if a signal has ended the command.
    /// - Throws: if the command does not start, or does not end.
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
