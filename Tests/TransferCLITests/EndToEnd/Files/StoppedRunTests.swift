import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// After Ctrl-C, one line says what a command has achieved and how to continue; files that were not begun get no lines.
@Suite(.ownThreads) struct StoppedRunTests {
    private let here: TemporaryDirectory

    /// Writes a file that is stored at once, and others that take a minute each at the rate of `slowly`.
    init() throws {
        here = try TemporaryDirectory()
        try makeDirectory(here.path("t"))
        try writeFile(here.path("t/a"), [1, 2, 3])
        for name in ["b", "c", "d"] { try writeFile(here.path("t/\(name)"), randomBytes(1 << 20, seed: 7)) }
    }

    private static let slowly = ["--bandwidth", "16K", "--plaintext"]

    private func start(_ arguments: [String]) throws -> Program {
        try Program(arguments, Surroundings(directory: here.path))
    }

    private func stopped(_ arguments: [String], behind text: String, _ signal: Int32 = SIGINT) throws -> Finished {
        let program = try start(arguments)
        try program.waitForOutput(text)
        program.signal(signal)
        let finished = try Finished(program)
        #expect(finished.end == .killed(by: signal), "\(finished.errors)")
        return finished
    }

    private func wayOn(_ arguments: [String]) throws -> String {
        "to go on: " + ([try Spawner.executable()] + arguments).joined(separator: " ")
    }

    @Test(arguments: [SIGINT, SIGTERM]) func aSyncToAServer(_ signal: Int32) throws {
        let server = try RunningServer()
        let arguments = ["sync", "t/", "\(server.address):/copy"] + Self.slowly
        let sync = try stopped(arguments, behind: "new  a  3 B\n", signal)
        let sentence = "The sync was stopped. 1 file (3 B) is acknowledged; \(try wayOn(arguments))"
        #expect(sync.errors == "transfer: \(sentence)\n" && sync.output == "new  a  3 B\n", "\(sync.errors)")
    }

    @Test func aSyncForPrograms() throws {
        let server = try RunningServer()
        let arguments = ["sync", "t/", "\(server.address):/copy", "--json"] + Self.slowly
        let sync = try stopped(arguments, behind: "\n")
        let objects = try sync.objects()
        #expect(objects.count == 2 && objects.first?["path"] == "a", "\(sync.output)")
        #expect(objects.last?["reason"] == "cancelled" && objects.last?["message"] == "The sync was stopped.")
    }

    @Test func whatIsFetched() throws {
        let server = try RunningServer()
        #expect(try server.push(["--quiet", here.path("t"), "--name", "copy"]).end == .exited(0))
        let sync = ["sync", "\(server.address):/copy/", "back"] + Self.slowly
        let synced = try stopped(sync, behind: "new  a  3 B\n")
        let here = "was stopped. 1 file (3 B) is here; "
        #expect(synced.errors == "transfer: The sync \(here)\(try wayOn(sync))\n", "\(synced.errors)")
        // Named files are fetched in the order of the operands.
        let pull = ["pull", "\(server.address):/copy/a", "\(server.address):/copy/b"] + Self.slowly
        let pulled = try stopped(pull, behind: "committed  copy/a")
        #expect(pulled.errors == "transfer: The pull \(here)\(try wayOn(pull))\n", "\(pulled.errors)")
        #expect(pulled.lines.count == 1, "\(pulled.output)")
    }

    /// These commands change nothing, and compare everything again when they are repeated.
    @Test(arguments: [["check"], ["sync", "-n"]]) func whatOnlyLooks(_ words: [String]) throws {
        let peer = try FakeServer()
        let finished = try silenced(words + ["t/", "\(peer.address):/copy", "--plaintext"], peer)
        #expect(
            finished.errors == "transfer: The \(words[0]) was stopped. Nothing was changed.\n", "\(finished.errors)")
    }

    /// A command without results to report can also be stopped while it waits for the server.
    @Test(arguments: [
        ["cat", "a", "--from"], ["copy", "a", "b", "--from"], ["move", "a", "b", "--from"],
        ["trash", "list", "--from"],
        ["pull", "a", "-o", "b", "--from"], ["pull", "a", "-o", "-", "--from"],
    ])
    func whileTheServerSaysNothing(_ words: [String]) throws {
        let peer = try FakeServer()
        let finished = try silenced(words + [peer.address, "--plaintext"], peer)
        #expect(finished.errors == "transfer: It was stopped.\n", "\(finished.errors)")
    }

    /// The server makes folders one by one. Whether it made one without an answer is unknown.
    @Test func aChangeWithoutAnAnswer() throws {
        let peer = try FakeServer()
        let finished = try silenced(["mkdir", "a", "b", "--from", peer.address, "--plaintext"], peer)
        #expect(finished.errors == "transfer: It was stopped. Nothing is acknowledged as made.\n", "\(finished.errors)")
    }

    /// Stops a command that has connected and gets no answer. The command must end by the signal: one that gives up
    /// waiting ends by itself, with a message.
    private func silenced(_ arguments: [String], _ peer: FakeServer) throws -> Finished {
        let program = try start(arguments)
        let connection = try peer.accept()
        program.signal(SIGINT)
        let finished = try Finished(program)
        #expect(finished.end == .killed(by: SIGINT), "\(finished.errors)")
        connection.close()
        return finished
    }
}
