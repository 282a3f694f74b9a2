import Glibc
import Testing
import TransferSystem
import TransferTestSupport

/// Tokens, and the ways to give a client one.
@Suite(.ownThreads) struct TokenTests {
    private let server: SecureServer
    private let token: String

    /// A well-formed token that no server knows.
    private static let foreign = "transfer_00000000_" + String(repeating: "0", count: 32)

    init() throws {
        server = try SecureServer(user: "owner")
        token = try server.access(["token", "create", "--name", "camera"]).output
        try keep("token", token.utf8)
    }

    private func push(_ flags: [String] = [], _ environment: [String: String] = [:]) throws -> Finished {
        try server.push(["--server-key", server.fingerprint] + flags, environment)
    }

    /// Writes a file that no other user can read.
    private func keep(_ name: String, _ bytes: some Sequence<UInt8>) throws {
        let path = server.home.path(name)
        try writeFile(path, bytes)
        try system("chmod") { chmod(path, 0o600) }
    }

    @Test func inAFile() throws {
        let push = try push(["--token-file", server.home.path("token")])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.storedFiles == ["note"])
    }

    /// Everyone who can read a token file can use the token, so a readable file is refused. A pipe has no permission
    /// bits to check.
    @Test(arguments: [(0o644, 2), (0o604, 2), (0o640, 0), (0o400, 0)] as [(mode_t, Int32)])
    func thatOthersCanRead(_ mode: mode_t, _ code: Int32) throws {
        let path = server.home.path("it's")
        try writeFile(path, token.utf8)
        try system("chmod") { chmod(path, mode) }
        let push = try push(["--token-file", path])
        #expect(push.end == .exited(code), "\(push.errors)")
        let folder = server.home.path
        let sentence = "\(folder)/it's'; change that with: chmod go= '\(folder)/it'\\''s'\n"
        #expect(push.errors.contains(sentence) == (code != 0), "\(push.errors)")
    }

    @Test func inAProcessSubstitution() throws {
        var surroundings = server.surroundings()
        surroundings.executable = "/bin/bash"
        let flags = "--text x --name note --to \"$1\" --server-key \"$2\""
        let script = "exec \"$0\" push \(flags) --token-file <(printf %s \"$3\")"
        let words = [try Spawner.executable(), server.address, try server.fingerprint, String(token.dropLast())]
        let push = try Finished(["-c", script] + words, surroundings)
        #expect(push.end == .exited(0), "\(push.errors)")
    }

    @Test func inTheEnvironment() throws {
        let push = try push([], ["TRANSFER_TOKEN": token])
        #expect(push.end == .exited(0), "\(push.errors)")
        // The flag names a file, so the variable does not replace a wrong token in it.
        try keep("wrong", Self.foreign.utf8)
        let file = ["--token-file", server.home.path("wrong")]
        #expect(try self.push(file, ["TRANSFER_TOKEN": token]).end == .exited(4))
    }

    @Test func atTheTerminal() throws {
        let push = try asked()
        try push.type(String(token.dropLast()))
        #expect(try push.wait() == .exited(0), "\(push.errorText)")
        #expect(!push.errorText.contains("transfer_"), "\(push.errorText)")
        #expect(server.storedFiles == ["note"])
    }

    @Test func whatIsTypedMayBeWrong() throws {
        let push = try asked()
        try push.type("swordfish")
        #expect(try push.wait() == .exited(4))
        #expect(push.errorText.contains("That is not a token.") && !push.errorText.contains("swordfish"))
    }

    @Test(arguments: [SIGINT, SIGTERM]) func whoIsAskedMayLeave(_ signal: Int32) throws {
        let push = try asked()
        push.signal(signal)
        #expect(try push.wait() == .killed(by: signal), "\(push.errorText)")
    }

    private func asked() throws -> Program {
        var surroundings = server.surroundings()
        surroundings.errors = .terminal(columns: 200)
        surroundings.ownsTerminal = true
        let flags = ["--to", server.address, "--server-key", try server.fingerprint, "--ask-token"]
        let push = try Program(["push", "--text", "hello", "--name", "note"] + flags, surroundings)
        try push.waitForError("Token: ")
        return push
    }

    @Test func wrongOnesAreRefused() throws {
        try keep("token", Self.foreign.utf8)
        let push = try push(["--token-file", server.home.path("token")])
        #expect(push.end == .exited(4))
        #expect(push.errors.contains("The server does not know this token"), "\(push.errors)")
        #expect(server.storedFiles.isEmpty)
    }

    /// The server refuses a revoked token even from a client whose key it admits: the client asked for the rights of
    /// the token.
    @Test func revokedOnesAreRefused() throws {
        _ = try server.access(["token", "revoke", "camera"])
        _ = try server.access(["add", server.key()])
        let push = try push(["--token-file", server.home.path("token")])
        #expect(push.end == .exited(4), "\(push.errors)")
        #expect(try self.push().end == .exited(0))
    }

    @Test func expiredOnesAreRefused() throws {
        let list = server.directory + "/.transfer/tokens"
        try writeFile(list, Array("expires=2020-01-01 ".utf8) + readFile(list))
        let push = try push(["--token-file", server.home.path("token")])
        #expect(push.end == .exited(4))
        #expect(push.errors.contains("The access of 'camera' ended on 2020-01-01"), "\(push.errors)")
    }

    @Test(arguments: [
        ["push", "x", "--to", "TOKEN"], ["push", "TOKEN"], ["push", "--text", "it is TOKEN."],
        ["push", "--token", "TOKEN"],
        ["push", "x", "--token-file", "TOKEN"], ["push", "x", "--token=TOKEN"], ["access", "token", "revoke", "TOKEN"],
        ["push", "x", "--to", "transfer://h#code=TOKEN"], ["TOKEN"],
    ])
    func noneIsAnArgument(_ arguments: [String]) throws {
        let secret = token.dropLast().split(separator: "_")
        let finished = try Finished(arguments.map { $0.replacing("TOKEN", with: String(token.dropLast())) })
        #expect(finished.end == .exited(2))
        #expect(finished.errors.contains("'transfer access token revoke \(secret[1])'"), "\(finished.errors)")
        #expect(!finished.errors.contains(secret[2]))
    }

    /// The devices of one person may share a name; the command that removes one says which it removed.
    @Test func severalMayShareAName() throws {
        let first = token.split(separator: "_")[1]
        let other = try server.access(["token", "create", "--name", "camera"])
        let sentence = "'camera' is the name of another token, too: \(first)."
        #expect(other.end == .exited(0) && other.errors.contains(sentence), "\(other.errors)")
        let second = other.output.split(separator: "_")[1]
        let third = try server.access(["token", "create", "--name", "camera"])
        #expect(third.errors.contains("'camera' is the name of other tokens, too: "), "\(third.errors)")
        let list = try server.access(["token", "list"]).output
        #expect([first, second].allSatisfy { list.contains("\($0)  token  camera  ") }, "\(list)")
        let failure = #expect(throws: Program.Failure.self) { try server.access(["token", "revoke", "camera"]) }
        #expect(failure?.description.contains("Several have that name; give an ID: ") ?? false)
        #expect(try push(["--token-file", server.home.path("token")]).end == .exited(0))
        #expect(try server.access(["token", "revoke", String(first)]).end == .exited(0))
        #expect(try push(["--token-file", server.home.path("token")]).end == .exited(4))
        try keep("other", other.output.utf8)
        #expect(try push(["--token-file", server.home.path("other")]).end == .exited(0))
    }

    @Test func noneTravelsInTheClear() throws {
        let peer = try FakeServer()
        for (flags, environment) in [
            (["--token-file", server.home.path("token")], [:]), ([], ["TRANSFER_TOKEN": token]),
        ] as [([String], [String: String])] {
            let arguments = ["push", photo, "--plaintext", "--to", peer.address] + flags
            let push = try Finished(arguments, server.surroundings(environment))
            #expect(push.end == .exited(2) && push.errors.contains("could use the token"), "\(push.errors)")
        }
    }

    @Test func theCommandLineIsWrong() throws {
        try keep("two", Array((token + token).utf8))
        let cases: [([String], String)] = [
            (["--token-file", "-"], "--token-file does not read standard input"),
            (["--token-file", server.home.path("none")], "cannot be read: No such file or directory"),
            (["--token-file", server.home.path("two")], "must contain one token and nothing else"),
            (["--token-file", server.home.path("token"), "--ask-token"], "exclude each other"),
            (["--ask-token"], "--ask-token needs a terminal"),
        ]
        for (flags, message) in cases {
            let finished = try push(flags)
            #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
            #expect(!finished.errors.contains("transfer_"))
        }
        let finished = try push([], ["TRANSFER_TOKEN": "swordfish"])
        #expect(finished.end == .exited(2) && !finished.errors.contains("swordfish"), "\(finished.errors)")
    }
}
