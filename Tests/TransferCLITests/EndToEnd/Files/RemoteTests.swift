import Glibc
import Testing
import TransferTestSupport

/// Named servers, from the link that admits a client to the push that uses the name.
@Suite(.ownThreads) struct RemoteTests {
    /// A server that other machines can reach and another user runs, and the link that it printed.
    private static func server() throws -> (server: SecureServer, link: String) {
        let server = try SecureServer(["--advertise", "127.0.0.1"], at: "0.0.0.0:0", user: "owner")
        try server.program.waitForOutput("'\n")
        return (server, String(try #require(server.program.outputText.split(separator: "'").dropFirst().first)))
    }

    private static func remote(_ arguments: [String], _ server: SecureServer, user: String = SecureServer.client) throws
        -> Finished
    {
        try Finished(["remote"] + arguments, server.surroundings(user: user))
    }

    private static func file(_ server: SecureServer) -> String {
        server.home.path("\(SecureServer.client)/transfer/config.toml")
    }

    private static func text(_ server: SecureServer) throws -> String {
        try String(decoding: readFile(file(server)), as: UTF8.self)
    }

    /// One command with the link suffices, and then the name alone.
    @Test func aLinkIsUsedOnceAndTheNameFromThenOn() throws {
        let (server, link) = try Self.server()
        let add = try Self.remote(["add", "home", link], server)
        #expect(add.end == .exited(0) && add.output == "", "\(add.errors)")
        let text = try Self.text(server)
        #expect(text.contains("[remote.home]\naddress = \"127.0.0.1:") && text.contains("server-key = \"SHA256:"))
        #expect(!text.contains("pair_") && !add.errors.contains("pair_"))
        #expect(try server.push(to: "home:/holiday").end == .exited(0))
        #expect(try server.push(to: "home").end == .exited(0))
        #expect(server.storedFiles == ["holiday/note", "note"])
        #expect(try server.trust(["list"]).lines.count == 1)
        #expect(try server.access(["list"]).lines.count == 1)
        // The code is used up, and a name can be given only once.
        #expect(try Self.remote(["add", "other", link], server, user: "second").end == .exited(4))
        let again = try Self.remote(["add", "home", link], server)
        #expect(again.end == .exited(1) && again.errors.contains("remote 'home' already exists"))
    }

    @Test func nothingIsKeptOfALinkThatFails() throws {
        let (server, link) = try Self.server()
        try server.end()
        let add = try Self.remote(["add", "home", link], server)
        #expect(add.end == .exited(3), "\(add.errors)")
        #expect(access(Self.file(server), F_OK) != 0)
    }

    @Test func anAddressNeedsNoServer() throws {
        let server = try SecureServer()
        #expect(
            try Self.remote(["add", "nas", "\(server.address)/base", "--server-key", server.fingerprint], server).end
                == .exited(0))
        #expect(try server.push(to: "nas/sub").end == .exited(0))
        #expect(server.storedFiles == ["base/sub/note"])
        // The variable and the configuration file can also name remotes.
        #expect(
            try Finished(["push", "--text", "x"], server.surroundings(["TRANSFER_SERVER": "nas:/v"])).end == .exited(0))
        try writeFile(Self.file(server), (try Self.text(server) + "[push]\nto = 'nas:/f'\n").utf8)
        #expect(try Finished(["push", "--text", "x"], server.surroundings()).end == .exited(0))
        #expect(server.storedFiles == ["base/f/text.txt", "base/sub/note", "base/v/text.txt"])
    }

    @Test func theNameOfARemoteIsNoFolder() throws {
        let server = try SecureServer()
        #expect(
            try Self.remote(["add", "nas", server.address, "--server-key", server.fingerprint], server).end
                == .exited(0))
        let hint = "transfer list nas:"
        for (folder, isHinted) in [("nas", true), ("nothing", false), ("nas:/nas", false)] {
            let list = try Finished(["list", folder], server.surroundings(["TRANSFER_SERVER": "nas:"]))
            #expect(list.end == .exited(1) && list.errors.contains(hint) == isHinted, "\(folder): \(list.errors)")
        }
        #expect(try Finished(["list", "nas:"], server.surroundings()).end == .exited(0))
    }

    /// A folder may follow a colon, as in scp, with every command that takes a server.
    @Test(arguments: ["", ":", "/f", ":/f", ":/f/"]) func aFolderMayStandBehindAColon(_ folder: String) throws {
        let server = try RunningServer()
        let place = server.address + folder
        let push = try Finished(["push", "--text", "x", "--plaintext", "--to", place])
        #expect(push.end == .exited(0), "\(push.errors)")
        for command in [["list"], ["stat", "text.txt"], ["cat", "text.txt"], ["remove", "text.txt"]] {
            let finished = try Finished(command + ["--plaintext", "--from", place])
            #expect(finished.end == .exited(0), "\(command): \(finished.errors)")
        }
        let stored = try Finished(["list", "--recursive", "--plaintext", "--from", server.address])
        #expect(stored.output == (folder.contains("f") ? "f/\n" : ""))
    }

    @Test func theRestOfTheFileStays() throws {
        let server = try SecureServer()
        let before = "# Mine.\n[push]\nlanes = 2 # enough\n\n\n# The end."
        try makeDirectory(server.home.path(SecureServer.client))
        try makeDirectory(server.home.path("\(SecureServer.client)/transfer"))
        // A symbolic link to the configuration file stays a link.
        try writeFile(server.home.path("dotfile"), before.utf8)
        #expect(symlink(server.home.path("dotfile"), Self.file(server)) == 0)
        for name in ["a", "b"] { #expect(try Self.remote(["add", name, "host-\(name)"], server).end == .exited(0)) }
        #expect(
            try Self.text(server) == before
                + "\n\n[remote.a]\naddress = \"host-a:5288\"\n\n[remote.b]\naddress = \"host-b:5288\"\n")
        #expect(try Self.remote(["list", "--names"], server).output == "a\nb\n")
        #expect(try Self.remote(["list"], server).output == "a  host-a:5288\nb  host-b:5288\n")
        #expect(try Self.remote(["remove", "a"], server).end == .exited(0))
        let json = "{\"schema\":\"transfer.remote/1\",\"name\":\"b\",\"address\":\"host-b:5288\",\"settings\":{}}\n"
        #expect(try Self.remote(["list", "--json"], server).output == json)
        #expect(try Self.remote(["remove", "b"], server).end == .exited(0))
        #expect(try readFile(server.home.path("dotfile")) == Array((before + "\n").utf8))
        let missing = try Self.remote(["remove", "a"], server)
        #expect(missing.end == .exited(1) && missing.errors == "transfer: There is no remote 'a'.\n")
    }

    /// Concurrent additions lose no change.
    @Test func manyAreAddedAtOnce() throws {
        let home = try TemporaryDirectory()
        let surroundings = Surroundings(environment: ["XDG_CONFIG_HOME": home.path("config")])
        let programs = try (0..<8).map { try Program(["remote", "add", "r\($0)", "h"], surroundings) }
        for program in programs { #expect(try program.wait() == .exited(0), "\(program.errorText)") }
        let list = try Finished(["remote", "list", "--names"], surroundings)
        #expect(list.lines.sorted() == (0..<8).map { "r\($0)" })
    }

    @Test(arguments: [
        (["add", "a"], "give NAME HOST[:PORT][/FOLDER]|URL|LINK"), (["add", "a.b", "h"], "'a.b' is not a valid name"),
        (["add", "-", "h"], "'-' is not a valid name"), (["add", "a", "h x:y"], "'h x:y' is not a server"),
        (["add", "a", "b:"], "there is no remote 'b'"), (["remove"], "give NAME"),
        (
            ["add", "a", "transfer://h#code=pair_1"],
            "the link of the second operand has a pairing code that is incomplete"
        ),
        (["list", "--json", "--names"], "--json and --names exclude each other"),
        (["lst"], "unknown command 'remote lst'; did you mean 'remote list'?"),
    ])
    func refuses(_ arguments: [String], message: String) throws {
        let home = try TemporaryDirectory()
        let surroundings = Surroundings(environment: ["XDG_CONFIG_HOME": home.path("config")])
        let finished = try Finished(["remote"] + arguments, surroundings)
        #expect(finished.end == .exited(2) && finished.errors.contains(message), "\(finished.errors)")
        #expect(!finished.errors.contains("pair_"))
    }

    @Test func whoHasNoHomeHasNoRemotes() throws {
        let nobody = Surroundings(environment: [:])
        let list = try Finished(["remote", "list"], nobody)
        #expect(list.end == .exited(0) && list.output == "" && list.errors == "")
        let add = try Finished(["remote", "add", "a", "h"], nobody)
        #expect(add.end == .exited(2) && add.errors.contains("set HOME or XDG_CONFIG_HOME"))
        #expect(try Finished(["config", "show", "push"], nobody).output.hasPrefix("# The user's file: none\n"))
    }
}
