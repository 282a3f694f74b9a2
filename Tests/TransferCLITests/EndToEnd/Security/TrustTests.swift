import Glibc
import Testing
import TransferTestSupport

/// Which servers a client trusts.
@Suite(.ownThreads) struct TrustTests {
    private static let otherKey = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"

    @Test func anUnknownServerIsRefusedInScripts() throws {
        let server = try SecureServer()
        let push = try server.push(["--json"])
        #expect(try push.end == .exited(4) && push.object()["reason"] == "untrusted")
        #expect(push.errors.contains("The server \(server.address) is not known here."), "\(push.errors)")
        // The message contains a command to paste.
        let command = "to trust it: \(try Spawner.executable()) push "
        #expect(push.errors.contains("\n\(command)") && push.errors.contains(" --server-key SHA256:"), "\(push.errors)")
        #expect(try push.errors.contains("add --server-key \(server.fingerprint),"), "\(push.errors)")
        #expect(server.storedFiles.isEmpty && access(server.list, F_OK) != 0)
    }

    @Test func aTrustedOneIsKnownFromThenOn() throws {
        let server = try SecureServer()
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        let line = try "\(server.address) \(server.fingerprint)\n"
        #expect(try String(decoding: readFile(server.list), as: UTF8.self) == line)
        var status = stat()
        #expect(stat(server.list, &status) == 0 && status.st_mode & 0o777 == 0o600)
        for flags in [[], ["--trust-new"]] { #expect(try server.push(flags).end == .exited(0)) }
        #expect(try server.trust(["list"]).output == line)
        #expect(server.storedFiles == ["note"])
    }

    /// A server that was set up again, with a new key, looks like another server in its place.
    @Test(arguments: [[], ["--trust-new"]]) func aChangedKeyIsRefused(_ flags: [String]) throws {
        let server = try SecureServer()
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        let known = try server.fingerprint
        try server.end()
        let other = try SecureServer(in: server.home, stored: "other", at: server.address)
        let push = try other.push(flags)
        #expect(push.end == .exited(4))
        #expect(push.errors.contains("THE KEY OF THE SERVER \(server.address) HAS CHANGED."), "\(push.errors)")
        #expect(try push.errors.contains("Known is \(known), shown was \(other.fingerprint)."), "\(push.errors)")
        #expect(push.errors.contains("'transfer trust remove \(server.address)'"), "\(push.errors)")
        #expect(files(below: server.home.path("other")).allSatisfy { $0.hasPrefix(".transfer/") })
        #expect(try other.trust(["remove", server.address]).end == .exited(0))
        #expect(try other.push(["--trust-new"]).end == .exited(0))
    }

    @Test(arguments: [("yes", 0), ("no", 4), ("", 4), ("y", 4)])
    func somebodyAtATerminalIsAsked(_ answer: String, _ code: Int32) throws {
        let server = try SecureServer()
        var surroundings = server.surroundings(["TERM": "xterm"])
        surroundings.errors = .terminal(columns: 200)
        surroundings.ownsTerminal = true
        let push = try Program(["push", "--text", "a", "--name", "note", "--to", server.address], surroundings)
        let asked = try push.waitForError("(yes/no) ")
        #expect(try asked.contains(server.fingerprint))
        try push.type(answer)
        #expect(try push.wait() == .exited(code), "\(push.errorText)")
        #expect(server.storedFiles == (code == 0 ? ["note"] : []))
        #expect(try server.push().end == .exited(code))
    }

    @Test func whoIsAskedMayAlsoLeave() throws {
        let server = try SecureServer()
        var surroundings = server.surroundings()
        surroundings.errors = .terminal(columns: 200)
        surroundings.ownsTerminal = true
        let push = try Program(["push", "--text", "a", "--name", "note", "--to", server.address], surroundings)
        try push.waitForError("(yes/no) ")
        push.signal(SIGINT)
        #expect(try push.wait() == .killed(by: SIGINT), "\(push.errorText)")
    }

    @Test func aGivenKeyIsTheOnlyOne() throws {
        let server = try SecureServer()
        #expect(try server.push(["--server-key", server.fingerprint]).end == .exited(0))
        // A key from a flag is not stored.
        #expect(access(server.list, F_OK) != 0)
        let push = try server.push(["--server-key", Self.otherKey, "--trust-new"])
        #expect(push.end == .exited(4))
        #expect(push.errors.contains("not \(Self.otherKey)"), "\(push.errors)")
        // A fingerprint in a flag counts even for a known server.
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        #expect(try server.push(["--server-key", Self.otherKey]).end == .exited(4))
    }

    @Test func theListIsKeptByHandToo() throws {
        let server = try SecureServer()
        #expect(try server.trust(["add", server.address, server.fingerprint]).end == .exited(0))
        #expect(try server.trust(["add", "NAS.local", Self.otherKey]).end == .exited(0))
        let list = try server.trust(["list"])
        #expect(try list.lines == ["\(server.address) \(server.fingerprint)", "nas.local:5288 \(Self.otherKey)"])
        #expect(try server.push().end == .exited(0))
        let replaced = try server.trust(["add", server.address, Self.otherKey])
        #expect(try replaced.errors == "The known key of \(server.address) was \(server.fingerprint).\n")
        #expect(try server.push().errors.contains("HAS CHANGED"))
        #expect(try server.trust(["remove", "nas.local"]).end == .exited(0))
        let unknown = try server.trust(["remove", "nas.local"])
        #expect(unknown.end == .exited(1) && unknown.errors == "transfer: 'nas.local:5288' was not known.\n")
        #expect(try server.trust(["list"]).lines.count == 1)
    }

    @Test func commentsStay() throws {
        let server = try SecureServer()
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        let line = try server.trust(["list"]).output
        try writeFile(server.list, Array("# mine\n\n\(line)# yours\n".utf8))
        #expect(try server.trust(["add", "b", Self.otherKey]).end == .exited(0))
        #expect(try server.push().end == .exited(0))
        let text = try String(decoding: readFile(server.list), as: UTF8.self)
        #expect(text == "# mine\n\n\(line)# yours\nb:5288 \(Self.otherKey)\n")
    }

    /// An unreadable line could be the one with this server's key.
    @Test(arguments: ["127.0.0.1:1 SHA256:short", "one", "a b c", "\u{0}"])
    func aDamagedListTrustsNobody(_ line: String) throws {
        let server = try SecureServer()
        #expect(try server.push(["--trust-new"]).end == .exited(0))
        try writeFile(server.list, readFile(server.list) + Array("\(line)\n".utf8))
        let push = try server.push(["--trust-new"])
        #expect(push.end == .exited(4) && push.errors.contains("in line 2"), "\(push.errors)")
        #expect(try server.trust(["list"]).end == .exited(5))
        #expect(try server.push(["--server-key", server.fingerprint]).end == .exited(0))
    }

    @Test(arguments: [
        (["add", "a"], "give HOST[:PORT] FINGERPRINT"), (["add", "a", "SHA256:x"], "'SHA256:x' is not a fingerprint"),
        (["remove"], "give HOST[:PORT]"), (["remove", "a/b"], "'a/b' is not a server"),
        (["list", "a"], "unexpected operand 'a'"), ([], "'trust' needs a subcommand"),
    ])
    func theCommandLineIsWrong(_ arguments: [String], _ message: String) throws {
        var surroundings = Surroundings()
        surroundings.environment["XDG_CONFIG_HOME"] = "/nonexistent"
        let finished = try Finished(["trust"] + arguments, surroundings)
        #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
    }
}
