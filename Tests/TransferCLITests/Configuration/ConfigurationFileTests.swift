import Testing
import TransferClient

@testable import TransferCLI

@Suite struct ConfigurationFileTests {
    static func read(_ text: String) throws -> ConfigurationFile {
        try ConfigurationFile(Array(text.utf8), path: "/etc/c.toml", home: "/home/me")
    }

    /// Every command refuses a configuration file above the size limit, so no edit may grow a file beyond the limit.
    @Test func itDoesNotBecomeTooLongToBeRead() throws {
        let editor = ConfigurationEditor("/etc/c.toml")
        let draft = RemoteDraft(name: "home", address: "h")
        let comment = [UInt8](repeating: UInt8(ascii: "#"), count: ConfigurationFile.longest - 1) + [UInt8(ascii: "\n")]
        let fault = #expect(throws: ConfigurationFault.self) { try editor.adding(draft, to: comment) }
        #expect(fault?.message.contains("longer") ?? false)
        #expect(throws: Never.self) { try editor.adding(draft, to: Array(comment.dropFirst(100))) }
    }

    @Test func tellsAboutCommands() throws {
        let file = try Self.read(
            """
            [push]
            lanes = 4
            quiet = true
            receipts = "~/r.jsonl"
            token-file = "t"
            [serve]
            listen = ["a:1", "b:2"]
            dir = "/srv"
            [access.token.create]
            quota = "10G"
            """)
        let push = file.settings(of: PushCommand.definition)
        #expect(
            push.mapValues(\.values) == [
                "lanes": ["4"], "quiet": ["true"], "receipts": ["/home/me/r.jsonl"], "token-file": ["/etc/t"],
            ])
        #expect(push["lanes"]?.origin == .file(Setting.Place(path: "/etc/c.toml", line: 2)))
        #expect(
            file.settings(of: ServeCommand.definition).mapValues(\.values) == [
                "listen": ["a:1", "b:2"], "dir": ["/srv"],
            ])
        #expect(file.settings(of: TokenCreateCommand.definition)["quota"]?.values == ["10G"])
        #expect(file.settings(of: VerifyCommand.definition).isEmpty && file.remotes.isEmpty)
    }

    /// Settings before the first table apply to every command whose own table does not set them.
    @Test func tellsAboutAllCommands() throws {
        let file = try Self.read("server = 'home:'\ndir = 'in'\n[pull]\nfrom = 'nas'\n[serve]\ndir = '~/own'\n")
        #expect(file.settings(of: PushCommand.definition).mapValues(\.values) == ["to": ["home:"]])
        #expect(
            file.settings(of: PushCommand.definition)["to"]?.origin
                == .file(Setting.Place(path: "/etc/c.toml", line: 1)))
        #expect(file.settings(of: PullCommand.definition)["from"]?.values == ["nas"])
        #expect(file.settings(of: VerifyCommand.definition)["dir"]?.values == ["/etc/in"])
        #expect(file.settings(of: ServeCommand.definition)["dir"]?.values == ["/home/me/own"])
        #expect(file.settings(of: KeyCommand.definition).isEmpty)
    }

    @Test func tellsAboutRemotes() throws {
        let file = try Self.read("[remote.home]\naddress = 'h:1/f'\nlanes = 2\n[remote.nas]\naddress = '[::1]'")
        #expect(file.remotes.map(\.name) == ["home", "nas"])
        let home = try #require(file.remote(named: "home"))
        #expect(home.address == ServerAddress("h:1/f") && home.settings.mapValues(\.values) == ["lanes": ["2"]])
        #expect(home.settings["lanes"]?.origin == .remote("home", Setting.Place(path: "/etc/c.toml", line: 3)))
        #expect(file.remote(named: "other") == nil)
    }

    @Test(arguments: [
        ("[push", ":1:6: a header is not closed by ']'"),
        ("lanes = 4", ":1: 'lanes' belongs to no command and no remote; put it below a header such as [push]"),
        ("[remote]\na = 1", ":2: 'a' belongs to no command and no remote; put it below a header such as [push]"),
        (
            "server = 5\nsrever = 'h'",
            ":2: 'srever' belongs to no command and no remote; put it below a header such as [push]"
        ),
        ("server = true", ":1: 'server' takes a string in quotes, or a number"),
        ("[psuh]", ":1: there are no settings for 'psuh'; did you mean 'push'?"),
        ("[help]", ":1: there are no settings for 'help'"),
        ("[access.token]", ":1: there are no settings for 'access token'"),
        ("[push]\nlnes = 4", ":2: unknown key 'lnes'; did you mean 'lanes'?"),
        ("[push]\nhelp = true", ":2: unknown key 'help'"), ("[serve]\nconfig = 'x'", ":2: unknown key 'config'"),
        ("[push]\nquiet = 'yes'", ":2: 'quiet' takes true or false"),
        ("[push]\nlanes = true", ":2: 'lanes' takes a string in quotes, or a number"),
        ("[push]\nname = ['a']", ":2: 'name' takes a string in quotes, or a number"),
        ("[serve]\nlisten = true", ":2: 'listen' takes a string in quotes, or several between [ and ]"),
        ("[push]\nname = \"a\\u0000b\"", ":2: 'name' contains a NUL byte"),
        ("[push]\ndigest = 'sha1'", ":2: unknown value 'sha1' for digest; choose xxh128, sha256"),
        ("[serve]\n\nquota = 'much'", ":3: quota: 'much' is not a size; write it like 500, 64K, 1.5G or 10MB"),
        ("[push]\nretry-for = -5", ":2: retry-for: '-5' is not a duration; write it like 500ms, 20s, 5m, 2h or 7d"),
        ("[remote.home]", ":1: the remote 'home' has no address"),
        ("[remote.home]\naddress = 5", ":2: the address is not a server; give \"HOST[:PORT][/FOLDER]\" or a URL"),
        ("[remote.home]\naddress = 'a:b:c'", ":2: the address is not a server; give \"HOST[:PORT][/FOLDER]\" or a URL"),
        ("[remote.home]\naddress = 'h'\nadress = 'x'", ":3: unknown key 'adress'; did you mean 'address'?"),
        ("[remote.\"a b\"]\naddress = 'h'", ":1: 'a b' is not a valid name of a remote; use letters, digits, - and _"),
        ("[remote.a.b]\naddress = 'h'", ":1: 'a.b' is not a valid name of a remote; use letters, digits, - and _"),
        ("[remote.unix]", ":1: 'unix' is not a valid name of a remote; use letters, digits, - and _"),
        ("[remote.\"\u{1B}[2J\"]", ":1: '\\u{1b}[2J' is not a valid name of a remote; use letters, digits, - and _"),
    ]) func refuses(_ text: String, message: String) {
        // A TOML document cannot contain a raw control character, but an escape in it can stand for one.
        let text = text.replacing("\u{1B}", with: "\\u001b")
        let fault = #expect(throws: ConfigurationFault.self) { try Self.read(text) }
        #expect(fault?.message == "/etc/c.toml" + message)
    }

    /// Without a home directory, `~` is an error. It must not stand for the folder of the configuration file.
    @Test func aPathBelowTheHomeNeedsOne() {
        let text = Array("[push]\nreceipts = '~/r.jsonl'\n".utf8)
        let fault = #expect(throws: ConfigurationFault.self) {
            try ConfigurationFile(text, path: "/etc/c.toml", home: nil)
        }
        let message = "'receipts' is a path below the home directory, and HOME is not set; give the whole path"
        #expect(fault?.message == "/etc/c.toml:2: " + message)
    }

    /// A file can set every option of a command that its flags can set.
    @Test(arguments: CommandsTests.flags) func everyFlagCanBeSet(_ command: Command, _ flag: Flag) throws {
        guard command.hasSettings, flag.reach == .environmentAndFiles else { return }
        let value = flag.choices?.last ?? (flag.value == .duration || flag.value == .size ? "7" : "x")
        let text =
            "[\(command.name.replacing(" ", with: "."))]\n\(flag.name) = \(flag.isSwitch ? "true" : "'\(value)'")"
        let settings = try Self.read(text).settings(of: command)
        #expect(settings[flag.name]?.values == [flag.isSwitch ? "true" : flag.value.isPath ? "/etc/x" : value])
    }
}
