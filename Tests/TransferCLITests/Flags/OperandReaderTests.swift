import Testing

@testable import TransferCLI

/// How operands that name servers are read, and the messages for invalid combinations.
@Suite struct OperandReaderTests {
    static func read(_ line: [String], _ environment: [String: String] = [:]) throws(UsageError) -> ParsedArguments {
        let invocation = try Invocation(line, sources: SettingSources(environment: environment))
        guard case .run(let arguments) = invocation else { throw UsageError("it cannot be run") }
        return arguments
    }

    @Test(arguments: [
        (["list"], "127.0.0.1:5288", []), (["list", "home:/a"], "home:/", ["a"]),
        (["list", "nas.local:"], "nas.local:/", ["/"]), (["list", "a", "--from", "h"], "h", ["a"]),
        (["stat", "home:a", "home:/b"], "home:/", ["a", "b"]), (["cat", "transfer://h/a"], "transfer://h", ["a"]),
        (["remove", "./a:b"], "127.0.0.1:5288", ["./a:b"]), (["mkdir", "[::1]:/a"], "[::1]:/", ["a"]),
        (["move", "home:/a", "home:/b/"], "home:/", ["a", "b/"]),
        (["trash", "restore", "home:/a"], "home:/", ["a"]), (["trash", "list", "home:"], "home:", []),
        (["trash", "empty", "home:/a"], "home:/a", []),
        (["list", "home:/a", "--from", "h", "--no-from"], "home:/", ["a"]),
    ]) func paths(_ line: [String], _ server: String, _ operands: [String]) throws {
        let arguments = try Self.read(line)
        #expect(arguments[FilesFlags.from] == server && arguments.operands == operands)
    }

    @Test(arguments: ["whoami", "people", "inbox", "sent"]) func aServerAlone(_ command: String) throws {
        let arguments = try Self.read([command, "home:"])
        #expect(arguments[PeopleFlags.to] == "home:" && arguments.operands == [])
        #expect(try Self.read([command])[PeopleFlags.to] == "127.0.0.1:5288")
    }

    @Test func aWatchHasATarget() throws {
        let arguments = try Self.read(["watch", "d", "home:/x"])
        #expect(arguments[WatchFlags.to] == "home:/x" && arguments.operands == ["d"])
    }

    @Test(arguments: [
        (["push", "a"], "127.0.0.1:5288", ["a"]), (["push", "a", "home:/x"], "home:/x", ["a"]),
        (["push", "a", "./b:c", "home:"], "home:", ["a", "./b:c"]),
        (["push", "a", "https://h/x/"], "https://h/x/", ["a"]), (["push", "a", "unix:/s"], "unix:/s", ["a"]),
        (["push", "--text", "t", "nas:x"], "nas:/x", []), (["push", "a", "--", "home:/x"], "home:/x", ["a"]),
        (["push", "-", "discover:nas/x"], "discover:nas/x", ["-"]),
    ]) func targets(_ line: [String], _ server: String, _ operands: [String]) throws {
        let arguments = try Self.read(line)
        #expect(arguments[PushFlags.to] == server && arguments.operands == operands)
    }

    @Test(arguments: [
        (["pull", "a", "b"], "127.0.0.1:5288", ["a", "b"], "."), (["pull", "home:/a"], "home:/", ["a"], "."),
        (["pull", "home:/a", "d"], "home:/", ["a"], "d"),
        (["pull", "home:/a", "home:b", "d"], "home:/", ["a", "b"], "d"),
        (["pull", "home:/a", "-o", "d"], "home:/", ["a"], "d"),
        (["pull", "home:/a", "./b:c"], "home:/", ["a"], "./b:c"),
    ]) func sources(_ line: [String], _ server: String, _ operands: [String], _ directory: String) throws {
        let arguments = try Self.read(line)
        #expect(arguments[FilesFlags.from] == server && arguments.operands == operands)
        let output = try #require(arguments.command.flag(named: "output"))
        #expect(arguments.values(of: output) == [directory])
    }

    /// The command line overrides all other sources, also by an operand.
    @Test func anOperandWinsOverTheEnvironment() throws {
        let environment = ["TRANSFER_SERVER": "other", "TRANSFER_PULL_OUTPUT": "there"]
        let arguments = try Self.read(["pull", "nas.local:/a", "here"], environment)
        #expect(
            arguments[FilesFlags.from] == "nas.local:/" && arguments.source(of: FilesFlags.from.flag) == "the operand")
        #expect(arguments.places == [0] && arguments.words == ["nas.local:/a", "here"])
        #expect(try Self.read(["pull", "a"], environment)[FilesFlags.from] == "other")
    }

    @Test(arguments: [
        (["push", "home:/x", "."], "to fetch, write: transfer pull home:/x ."),
        (["push", "home:/x", "home:/y", "d"], "to fetch, write: transfer pull home:/x home:/y d"),
        (
            ["push", "a", "home:/x", "-q", "b"],
            "the target must be the last operand; write: transfer push a -q b home:/x"
        ),
        (["push", "home:", "a", "b"], "the target must be the last operand; write: transfer push a b home:"),
        (["push", "a:b", "home:/x"], "to send a file of that name, write: transfer push ./a:b home:/x"),
        (["push", "-q", "a:it's", "home:/x"], "write: transfer push -q './a:it'\\''s' home:/x"),
        (["push", "home:/x"], "to fetch what is there, write: transfer pull home:/x; to send"),
        (["push", "a", "home:/x", "--to", "h", "-q"], "write: transfer push a home:/x -q"),
        (
            ["push", "a", "home:/x", "--to=h"],
            "both 'home:/x' and --to name a server; write: transfer push a home:/x"
        ),
        (["push", "a:b", "--to", "h"], "to send a file of that name, write: transfer push ./a:b --to h"),
        (
            ["push", "a", "me@nas.local:/x"],
            "contains a user name, but servers identify users by their keys; write: transfer push a nas.local:/x"
        ),
        (["pull", "a.jpg", "home:/x"], "to send, write: transfer push a.jpg home:/x"),
        (["pull", "two words", "home:"], "to send, write: transfer push 'two words' home:"),
        (
            ["pull", "home:/a", "b", "c"],
            "'b' names no server, but other operands do; write: transfer pull home:/a home:/b c"
        ),
        (["pull", "home:/a", "b", "home:c"], "write: transfer pull home:/a home:/b home:c"),
        (["pull", "home:/a", "nas:/b"], "the operands name several servers; give one"),
        (["pull", "home:/a", "d", "-o", "e"], "both 'd' and --output name the target; give one of them"),
        (["list", "home:/x", "--from", "h"], "write: transfer list home:/x"),
        (["stat", "a", "home:/b"], "'a' names no server, but other operands do; write: transfer stat home:/a home:/b"),
        (["move", "home:/a", "b"], "write: transfer move home:/a home:/b"),
        (["move", "[::1]:/a", "b"], "write: transfer move '[::1]:/a' '[::1]:/b'"),
        (["whoami", "home"], "unexpected operand 'home'; to ask a server of that name, write: transfer whoami home:"),
        (["inbox", "-q", "home:", "nas:"], "inbox takes one server"),
        (["trash", "list", "home:", "a"], "unexpected operand 'a'"),
        (["trash", "list", "home:", "--from", "h"], "and --from name a server; write: transfer trash list home:"),
        (["people", "me@nas.local:"], "users by their keys; write: transfer people nas.local:"),
        (["watch", "home:/x", "d"], "but watch sends local files; to fetch, write: transfer pull home:/x d"),
        (["stat", "\u{1B}", "home:/b"], "write: transfer stat $'home:/\\033' home:/b"),
    ]) func saysWhatToWrite(_ line: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) {
            let arguments = try Self.read(line)
            _ = try PushUploads(arguments, StandardInput())
        }
        #expect(error?.message.contains(message) ?? false, "\(error?.message ?? "")")
        #expect(error?.code == .usage)
    }

    /// The message does not repeat a password or a code.
    @Test(arguments: [
        ["push", "https://me:secret@h/", "d"], ["push", "a", "https://me:secret@h/", "--to", "h"],
        ["push", "transfer://h#code=pair_0123456789abcdef_secret", "d"],
        ["whoami", "transfer://h#code=pair_0123456789abcdef_secret", "h:"],
    ]) func keepsSecrets(_ line: [String]) {
        let error = #expect(throws: UsageError.self) { try Self.read(line) }
        #expect(!(error?.message.contains("secret") ?? true), "\(error?.message ?? "")")
    }
}
