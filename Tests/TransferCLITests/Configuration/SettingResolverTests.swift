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
        _ arguments: [String], _ environment: [String: String] = [:], _ command: Command = Commands.push
    ) throws -> ParsedArguments {
        try ArgumentParser.parse(
            arguments, command: command,
            sources: SettingSources(environment: environment, file: ("/c.toml", Array(file.utf8))))
    }

    @Test func theOrderIsKept() throws {
        let environment = ["TRANSFER_PUSH_LANES": "3"]
        let all = try Self.parse(["--lanes", "2"], environment)
        #expect(all.string("lanes") == "2" && all.source(of: "lanes") == "--lanes")
        let variable = try Self.parse([], environment)
        #expect(variable.string("lanes") == "3" && variable.source(of: "lanes") == "TRANSFER_PUSH_LANES")
        let remote = try Self.parse([])
        #expect(remote.string("lanes") == "4" && remote.source(of: "lanes") == "/c.toml:9: lanes")
        let file = try Self.parse(["--to", "nas"])
        #expect(file.string("lanes") == "5" && file.source(of: "lanes") == "/c.toml:3: lanes")
        #expect(file.string("digest") == "sha256" && file.isSet("quiet"))
        #expect(file.string("retry-for") == "60s" && file.setting("retry-for") == nil)
        let negated = try Self.parse(["--no-lanes", "--no-quiet"], environment)
        #expect(negated.string("lanes") == "auto" && !negated.isSet("quiet"))
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
        #expect(try Self.parse([], [:], Commands.verify).remote == nil)
    }

    /// A remote that is missing is an error; a name alone may be a host.
    @Test func remotesHaveToBeThere() throws {
        let push = try Self.parse([])
        #expect(try push.remoteServer("home:/f") == ServerAddress("h:1/base/f"))
        let other = try Self.parse(["--to", "other"])
        #expect(try other.remoteServer("other") == nil)
        let message = "there is no remote 'other'; 'transfer remote list' shows those that there are"
        #expect(throws: UsageError(message, command: Commands.push)) {
            try Self.parse(["--to", "other:/x"]).remoteServer("other:/x")
        }
    }

    /// Help is for those whose configuration is wrong, too.
    @Test func helpReadsNothing() throws {
        let sources = SettingSources(environment: [:], file: ("/c.toml", Array("[".utf8)))
        #expect(throws: UsageError.self) {
            try ArgumentParser.parse([], command: Commands.push, sources: sources)
        }
        let help = try ArgumentParser.parse(["--help"], command: Commands.push, sources: sources)
        #expect(help.isSet("help"))
        #expect(throws: Never.self) {
            try ArgumentParser.parse([], command: Commands.remoteList, sources: sources)
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
        let parsed = try ArgumentParser.parse(["--config", "/own"], command: Commands.serve, sources: sources)
        #expect(parsed.string("quota") == "2G" && parsed.string("min-free") == "1G")
        #expect(throws: UsageError("/none: there is no such file", command: Commands.serve)) {
            try ArgumentParser.parse(["--config", "/none"], command: Commands.serve, sources: sources)
        }
    }
}
