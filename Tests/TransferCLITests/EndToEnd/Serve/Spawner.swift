import CSpawn
import Glibc
import TransferSystem
import TransferTestSupport

/// Starts the program that was built beside these tests.
struct Spawner {
    /// A process, and the test's ends of the process's streams.
    struct Spawned {
        let child: Child
        let input: Int32?
        let output: Int32
        let errors: Int32
    }

    private let surroundings: Surroundings

    init(_ surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    func spawn(_ arguments: [String]) throws -> Spawned {
        // A process that ends while a test writes to it must not end the tests.
        Glibc.signal(SIGPIPE, SIG_IGN)
        let input = try Channel(surroundings.input, isInput: true)
        let errors = try Channel(surroundings.errors, isInput: false)
        let isJoined = surroundings.output == .joined
        let output = isJoined ? errors : try Channel(surroundings.output, isInput: false)
        defer { for channel in [input, errors] + (isJoined ? [] : [output]) { channel.closeTheirs() } }
        var launch = ChildLaunch(
            descriptors: [:], environment: surroundings.environment.map { "\($0.key)=\($0.value)" } + Self.mutant)
        launch.descriptors[STDIN_FILENO] = input.theirs
        launch.descriptors[STDOUT_FILENO] = output.theirs
        launch.descriptors[STDERR_FILENO] = errors.theirs
        launch.descriptors[3] = surroundings.listener ?? surroundings.passed
        launch.leadsSession = surroundings.ownsTerminal
        return Spawned(
            child: try Child(command(arguments), launch), input: input.ours,
            output: try isJoined ? Channel.nothing() : output.toRead(), errors: try errors.toRead())
    }

    /// Wraps the program in a shell that sets what posix_spawn(3) cannot.
    private func command(_ arguments: [String]) throws -> [String] {
        var script = ""
        // The first terminal that the leader of a session opens becomes its controlling terminal (credentials(7)).
        if surroundings.ownsTerminal { script += ": <>/dev/fd/2 && " }
        if let directory = surroundings.directory { script += "cd '\(directory)' && " }
        if surroundings.listener != nil { script += "export LISTEN_PID=$$ LISTEN_FDS=1 && " }
        if let limit = surroundings.descriptorLimit { script += "ulimit -n \(limit) && " }
        let command = [try surroundings.executable ?? Self.executable()] + arguments
        return script.isEmpty ? command : ["/bin/sh", "-c", script + "exec \"$@\"", "sh"] + command
    }

    /// The mutant that the program must run as, when the tests are to detect one.
    private static var mutant: [String] {
        getenv("TRANSFER_MUTANT").map { ["TRANSFER_MUTANT=\(String(cString: $0))"] } ?? []
    }

    /// Path of the program, beside the program that runs the tests, unless `TRANSFER_BINARY` names another one.
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

/// One stream of a process: the process's end and the test's end.
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
            _ = try Self.check("pipe", cspawn_pipe(&ends))
            (theirs, ours) = isInput ? (ends[0], ends[1]) : (ends[1], ends[0])
            if isInput { _ = fcntl(ends[1], F_SETFL, O_NONBLOCK) }
        case .brokenPipe:
            var ends: [Int32] = [-1, -1]
            _ = try Self.check("pipe", cspawn_pipe(&ends))
            close(ends[0])
            (theirs, ours) = (ends[1], nil)
        case .terminal(let columns):
            let master = try Self.check("open /dev/ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC))
            var (locked, number): (Int32, UInt32) = (0, 0)
            _ = try Self.check("TIOCSPTLCK", ioctl(master, Self.lockTerminal, &locked))
            _ = try Self.check("TIOCGPTN", ioctl(master, Self.terminalNumber, &number))
            theirs = try Self.check("open", open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC))
            ours = master
            // struct winsize: rows, columns, and two unused fields.
            var size: [UInt16] = [24, columns, 0, 0]
            _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        }
    }

    /// The test's end, or an empty stream if the test has no end.
    func toRead() throws -> Int32 {
        try ours ?? Self.nothing()
    }

    /// Opens an empty stream for reading.
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
