import Testing
import TransferClient

@testable import TransferCLI

@Suite struct SettingResolverTests {
    static let file = """
        [push]
        to = "home:/f"
        lanes = 5
        digest = "sha256"
        quiet = true

        [remote.home]
        address = "h:1/base"
        lanes = 4
        compress = "none"

        [remote.nas]
        address = "nas.local"
        """

    static func parse(
        _ arguments: [String], _ environment: [String: String] = [:], _ command: Command = PushCommand.definition
    ) throws -> ParsedArguments {
        try ArgumentParser.parse(
            arguments, command: command,
            sources: SettingSources(environment: environment, file: ("/c.toml", Array(file.utf8))))
    }

    @Test func theOrderIsKept() throws {
        let environment = ["TRANSFER_PUSH_LANES": "3"]
        let all = try Self.parse(["--lanes", "2"], environment)
        #expect(all.text("lanes") == "2" && all.place("lanes") == "--lanes")
        let variable = try Self.parse([], environment)
        #expect(variable.text("lanes") == "3" && variable.place("lanes") == "TRANSFER_PUSH_LANES")
        let remote = try Self.parse([])
        #expect(remote.text("lanes") == "4" && remote.place("lanes") == "/c.toml:9: lanes")
        let file = try Self.parse(["--to", "nas"])
        #expect(file.text("lanes") == "5" && file.place("lanes") == "/c.toml:3: lanes")
        #expect(file.text("digest") == "sha256" && file[ClientFlags.quiet])
        #expect(file.text("retry-for") == "60s" && file.setting(of: ClientFlags.retryFor.flag) == nil)
        let negated = try Self.parse(["--no-lanes", "--no-quiet"], environment)
        #expect(negated.text("lanes") == "auto" && !negated[ClientFlags.quiet])
    }

    @Test(
        arguments: [
            ([], [:], "home"), (["--to", "nas"], [:], "nas"), (["--to", "nas:1"], [:], nil),
            (["--to", "nas:/x"], [:], "nas"), ([], ["TRANSFER_SERVER": "nas"], "nas"),
            ([], ["TRANSFER_SERVER": "nas", "TRANSFER_PUSH_TO": "home"], "home"), (["--no-to"], [:], nil),
        ] as [([String], [String: String], String?)])
    func theRemoteIsFound(_ arguments: [String], environment: [String: String], name: String?) throws {
        #expect(try Self.parse(arguments, environment).remote?.name == name)
    }

    @Test func remotesAreForCommandsThatTalkToServers() throws {
        #expect(try Self.parse([], [:], VerifyCommand.definition).remote == nil)
    }

    /// A name with only a colon behind it must be a remote; a name alone, or with a folder, may also be a host.
    @Test func remotesHaveToBeThere() throws {
        let push = try Self.parse([])
        #expect(try ServerAddress(remote: "home:/f", push) == ServerAddress("h:1/base/f"))
        let other = try Self.parse(["--to", "other"])
        #expect(try ServerAddress(remote: "other", other) == nil)
        #expect(try ServerAddress(remote: "other:/x", Self.parse(["--to", "other:/x"])) == nil)
        let message =
            "there is no remote 'other'; 'transfer remote list' lists the remotes, and for a host of that name write "
            + "other:/"
        #expect(throws: UsageError(message, command: PushCommand.definition)) {
            try ServerAddress(remote: "other:", Self.parse(["--to", "other:"]))
        }
    }

    /// The top-level `server` setting can name a remote, and the environment variable overrides it.
    @Test func theServerOfAllCommandsCanBeARemote() throws {
        let file = ("/c.toml", Array("server = 'home:'\n[remote.home]\naddress = 'h:1'\nlanes = 4".utf8))
        let pull = try ArgumentParser.parse(
            ["a"], command: PullCommand.definition, sources: SettingSources(environment: [:], file: file))
        #expect(pull.text("from") == "home:" && pull.place("from") == "/c.toml:1: from" && pull.remote?.name == "home")
        #expect(pull.text("lanes") == "4")
        let other = try ArgumentParser.parse(
            ["a"], command: PullCommand.definition,
            sources: SettingSources(environment: ["TRANSFER_SERVER": "nas"], file: file))
        #expect(other.text("from") == "nas" && other.remote == nil)
    }

    /// Users need help also when their configuration file is broken.
    @Test func helpReadsNothing() throws {
        let sources = SettingSources(environment: [:], file: ("/c.toml", Array("[".utf8)))
        #expect(throws: UsageError.self) {
            try ArgumentParser.parse([], command: PushCommand.definition, sources: sources)
        }
        let help = try ArgumentParser.parse(["--help"], command: PushCommand.definition, sources: sources)
        #expect(help.isSet(.help))
        #expect(throws: Never.self) {
            try ArgumentParser.parse([], command: RemoteListCommand.definition, sources: sources)
        }
    }

    @Test func aNamedFileWinsAndMustBeThere() throws {
        let sources = SettingSources(
            variable: { _ in nil }, userFile: "/user",
            content: { path in
                [
                    "/user": Array("[serve]\nquota = '1G'\nmin-free = '1G'".utf8),
                    "/own": Array("[serve]\nquota = '2G'".utf8),
                ][path]
            })
        let parsed = try ArgumentParser.parse(["--config", "/own"], command: ServeCommand.definition, sources: sources)
        #expect(
            parsed.values(of: ServeFlags.quota.flag) == ["2G"]
                && parsed.values(of: ServeFlags.minimumFree.flag) == ["1G"])
        #expect(throws: UsageError("/none: there is no such file", command: ServeCommand.definition)) {
            try ArgumentParser.parse(["--config", "/none"], command: ServeCommand.definition, sources: sources)
        }
    }
}

extension ParsedArguments {
    fileprivate func text(_ name: String) -> String? { command.flag(named: name).flatMap { values(of: $0).last } }

    fileprivate func place(_ name: String) -> String? { command.flag(named: name).map { source(of: $0) } }
}
