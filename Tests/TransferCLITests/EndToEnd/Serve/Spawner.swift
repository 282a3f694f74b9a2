import Glibc
import TransferSystem

/// Starts the program that was built beside these tests.
struct Spawner {
    /// A process, and the test's ends of its streams.
    struct Spawned {
        let process: pid_t
        let input: Int32?
        let output: Int32
        let errors: Int32
        let life: Int32
    }

    /// Where a process holds the other end of `life`; never closed by itself, and above the standard streams.
    private static let lifeline: Int32 = 9

    /// POSIX_SPAWN_SETSID of spawn.h, which is shown with _GNU_SOURCE only.
    private static let newSession: Int16 = 0x80

    /// Held while descriptors are made that must not leak into another process, which would keep them open.
    private static let lock = Locked(())

    private let surroundings: Surroundings

    init(_ surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    func spawn(_ arguments: [String]) throws -> Spawned {
        try Self.lock.withLock { _ in try spawnAlone(arguments) }
    }

    private func spawnAlone(_ arguments: [String]) throws -> Spawned {
        // A process that ends while a test writes to it must not take the tests with it.
        Glibc.signal(SIGPIPE, SIG_IGN)
        let input = try Channel(surroundings.input, isInput: true)
        let errors = try Channel(surroundings.errors, isInput: false)
        let isJoined = surroundings.output == .joined
        let output = isJoined ? errors : try Channel(surroundings.output, isInput: false)
        let life = try Channel(.pipe, isInput: false)
        defer { for channel in [input, errors, life] + (isJoined ? [] : [output]) { channel.closeTheirs() } }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, channel) in [(0, input), (1, output), (2, errors), (Self.lifeline, life)] {
            if let theirs = channel.theirs {
                posix_spawn_file_actions_adddup2(&actions, theirs, number)
            } else {
                posix_spawn_file_actions_addclose(&actions, number)
            }
        }
        // Its own number may be one that another stream has by then.
        let listener = surroundings.listener.map { fcntl($0, F_DUPFD_CLOEXEC, Self.lifeline + 1) }
        defer { if let listener { close(listener) } }
        if let listener { posix_spawn_file_actions_adddup2(&actions, listener, 3) }
        let process = try start(command(arguments), &actions)
        return Spawned(
            process: process, input: input.ours, output: try isJoined ? Channel.nothing() : output.toRead(),
            errors: try errors.toRead(), life: try life.toRead())
    }

    /// A shell sets what posix_spawn(3) cannot.
    private func command(_ arguments: [String]) throws -> [String] {
        var script = ""
        // The first terminal that the leader of a session opens becomes its own (credentials(7)).
        if surroundings.ownsTerminal { script += ": <>/dev/fd/2 && " }
        if let directory = surroundings.directory { script += "cd '\(directory)' && " }
        if surroundings.listener != nil { script += "export LISTEN_PID=$$ LISTEN_FDS=1 && " }
        if let limit = surroundings.descriptorLimit { script += "ulimit -n \(limit) && " }
        let command = [try surroundings.executable ?? Self.executable()] + arguments
        return script.isEmpty ? command : ["/bin/sh", "-c", script + "exec \"$@\"", "sh"] + command
    }

    private func start(_ command: [String], _ actions: inout posix_spawn_file_actions_t) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // Tests that a shell has put into the background ignore SIGINT.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGPIPE, SIGINT, SIGQUIT] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        let session = surroundings.ownsTerminal ? Self.newSession : 0
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | session)
        var process = pid_t()
        let environment = surroundings.environment.map { "\($0.key)=\($0.value)" }
        let code = withCStrings(command) { arguments in
            withCStrings(environment) { posix_spawn(&process, command[0], &actions, &attributes, arguments, $0) }
        }
        guard code == 0 else { throw Program.Failure(description: "posix_spawn \(command[0]): errno \(code)") }
        return process
    }

    /// The program, beside the program that runs the tests, unless `TRANSFER_BINARY` names another one.
    static func executable() throws -> String {
        if let other = getenv("TRANSFER_BINARY") { return String(cString: other) }
        guard let resolved = realpath("/proc/self/exe", nil) else {
            throw Program.Failure(description: "realpath /proc/self/exe: errno \(errno)")
        }
        defer { free(resolved) }
        let path = String(cString: resolved).split(separator: "/").dropLast().joined(separator: "/")
        return "/\(path)/transfer"
    }
}

/// One stream of a process: their end and ours.
private final class Channel {
    /// TIOCSPTLCK and TIOCGPTN of asm-generic/ioctls.h, computed macros that Swift does not import (pts(4)).
    private static let lockTerminal: UInt = 0x4004_5431
    private static let terminalNumber: UInt = 0x8004_5430

    let theirs: Int32?
    let ours: Int32?

    init(_ stream: Surroundings.Stream, isInput: Bool) throws {
        switch stream {
        case .closed, .joined: (theirs, ours) = (nil, nil)
        case .file(let path):
            theirs = try Self.check("open \(path)", Glibc.open(path, (isInput ? O_RDONLY : O_WRONLY) | O_CLOEXEC))
            ours = nil
        case .pipe:
            var ends: [Int32] = [-1, -1]
            _ = try Self.check("pipe", pipe(&ends))
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (theirs, ours) = isInput ? (ends[0], ends[1]) : (ends[1], ends[0])
            if isInput { _ = fcntl(ends[1], F_SETFL, O_NONBLOCK) }
        case .brokenPipe:
            var ends: [Int32] = [-1, -1]
            _ = try Self.check("pipe", pipe(&ends))
            close(ends[0])
            (theirs, ours) = (ends[1], nil)
        case .terminal(let columns):
            let master = try Self.check("open /dev/ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
            var (locked, number): (Int32, UInt32) = (0, 0)
            _ = try Self.check("TIOCSPTLCK", ioctl(master, Self.lockTerminal, &locked))
            _ = try Self.check("TIOCGPTN", ioctl(master, Self.terminalNumber, &number))
            theirs = try Self.check("open", open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC))
            ours = master
            // struct winsize: rows, columns, and two that nobody uses.
            var size: [UInt16] = [24, columns, 0, 0]
            _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        }
    }

    /// Our end, or an empty stream where the process leaves none.
    func toRead() throws -> Int32 {
        try ours ?? Self.nothing()
    }

    /// An empty stream.
    static func nothing() throws -> Int32 {
        try check("open /dev/null", open("/dev/null", O_RDONLY | O_CLOEXEC))
    }

    func closeTheirs() {
        if let theirs { close(theirs) }
    }

    private static func check(_ call: String, _ number: Int32) throws -> Int32 {
        guard number >= 0 else { throw Program.Failure(description: "\(call): errno \(errno)") }
        return number
    }
}

private func withCStrings<T>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> T) -> T {
    let copies = strings.map { strdup($0) }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
}
