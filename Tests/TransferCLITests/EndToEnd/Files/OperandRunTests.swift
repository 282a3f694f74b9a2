import Glibc
import Testing
import TransferTestSupport

/// Servers named in operands, as scp takes them, with the real program.
@Suite(.ownThreads) struct OperandRunTests {
    /// A server, and surroundings with a remote for it.
    private static func server(folder: String = "") throws -> (server: RunningServer, surroundings: Surroundings) {
        let server = try RunningServer()
        try makeDirectory(server.home.path("config"))
        try makeDirectory(server.home.path("config/transfer"))
        let text = "[remote.home]\naddress = '\(server.address)/\(folder)'\nplaintext = true\n"
        try writeFile(server.home.path("config/transfer/config.toml"), text.utf8)
        try makeDirectory(server.home.path("here"))
        return (
            server,
            Surroundings(
                environment: [
                    "XDG_CONFIG_HOME": server.home.path("config"), "TRANSFER_PUSH_PLAINTEXT": "true",
                    "TRANSFER_PULL_PLAINTEXT": "true", "TRANSFER_LIST_PLAINTEXT": "true",
                    "TRANSFER_CAT_PLAINTEXT": "true",
                    "TRANSFER_STAT_PLAINTEXT": "true", "TRANSFER_REMOVE_PLAINTEXT": "true",
                    "TRANSFER_MOVE_PLAINTEXT": "true", "TRANSFER_MKDIR_PLAINTEXT": "true",
                ], directory: server.home.path("here"))
        )
    }

    private static func run(_ line: [String], _ surroundings: Surroundings, output: String? = nil) throws {
        let finished = try Finished(line, surroundings)
        #expect(finished.end == .exited(0), "\(line): \(finished.errors)")
        if let output { #expect(finished.output == output, "\(line)") }
    }

    @Test(arguments: ["home:/", "home:", "ADDRESS/", "ADDRESS:/", "transfer://ADDRESS/"])
    func everyFormWorksEverywhere(_ form: String) throws {
        let (server, surroundings) = try Self.server()
        let place = form.split(separator: "ADDRESS", omittingEmptySubsequences: false).joined(separator: server.address)
        try writeFile(server.home.path("here/a:b"), "content".utf8)
        try Self.run(["push", "./a:b", "\(place)x"], surroundings)
        #expect(server.visibleFiles == ["x/a:b"])
        try Self.run(["list", "\(place)x"], surroundings, output: "x/a:b\n")
        try Self.run(["ls", place], surroundings, output: "x/\n")
        try Self.run(["cat", "\(place)x/a:b"], surroundings, output: "content")
        try Self.run(["stat", "\(place)x/a:b", "--json"], surroundings)
        try Self.run(["pull", "\(place)x/a:b", "there"], surroundings)
        #expect(try readFile(server.home.path("here/there")) == Array("content".utf8))
        try Self.run(["mkdir", "\(place)y"], surroundings)
        try Self.run(["move", "\(place)x/a:b", "\(place)y/"], surroundings)
        #expect(server.visibleFiles == ["y/a:b"])
        try Self.run(["remove", "\(place)y/a:b"], surroundings)
        #expect(server.visibleFiles == [])
    }

    /// A push prints stored paths in the form that the same remote takes, whatever folder the remote has.
    @Test(arguments: ["", "base/folder"]) func storedPathsCanBeGivenBack(_ folder: String) throws {
        let (server, surroundings) = try Self.server(folder: folder)
        try makeDirectory(server.home.path("here/d"))
        try writeFile(server.home.path("here/d/note"), "content".utf8)
        let push = try Finished(["push", "--json", "--quiet", "d", "home:/x"], surroundings)
        let stored = try #require(try push.object()["storedPath"])
        #expect(stored == "x/d/note")
        try Self.run(["cat", "home:/\(stored)"], surroundings, output: "content")
        let plan = try Finished(["push", "--json", "--dry-run", "d", "home:/x"], surroundings)
        #expect(try plan.object()["destination"] == stored)
        // For an address, stored paths are relative to its server.
        let address = "\(server.address)/\(folder)"
        let other = try Finished(["push", "--json", "--quiet", "d/note", address], surroundings)
        let path = try #require(try other.object()["storedPath"])
        #expect(path == (folder.isEmpty ? "note" : "\(folder)/note"))
        try Self.run(["cat", "\(server.address):/\(path)"], surroundings, output: "content")
    }

    /// The configuration file names one server and one directory for all commands.
    @Test func theConfigurationHasAServerAndADirectory() throws {
        let (server, surroundings) = try Self.server()
        let file = server.home.path("config/transfer/config.toml")
        try writeFile(file, "server = 'home:'\ndir = '\(server.directory)'\n".utf8 + (try readFile(file)))
        try writeFile(server.home.path("here/note"), "content".utf8)
        try Self.run(["push", "note"], surroundings)
        try Self.run(["ls"], surroundings, output: "note\n")
        try Self.run(["verify"], surroundings)
        let shown = try Finished(["config", "show", "serve"], surroundings)
        #expect(shown.output.contains("dir = \"\(server.directory)\"") && shown.output.contains("\(file):2"))
        #expect(try Finished(["config", "show", "list"], surroundings).output.contains("from = \"home:\""))
        #expect(try Finished(["config", "show", "list", "nas:/x"], surroundings).output.contains("from = \"nas:/\""))
    }

    @Test func aNameThatIsNoRemoteIsSaidToBeNone() throws {
        let (server, surroundings) = try Self.server()
        defer { withExtendedLifetime(server) {} }
        let push = try Finished(["push", photo, "--to", "nowhere"], surroundings)
        #expect(push.end == .exited(3))
        let message =
            "There is no remote 'nowhere' either: 'transfer remote list' lists the remotes, and "
            + "'transfer remote add nowhere HOST' adds it. Check whether the name is spelt right"
        #expect(push.errors.contains(message), "\(push.errors)")
        let list = try Finished(["list", "nowhere:/x"], surroundings)
        #expect(list.end == .exited(3) && list.errors.contains(message), "\(list.errors)")
        let missing = try Finished(["list", "nowhere:"], surroundings)
        #expect(missing.end == .exited(2) && missing.errors.contains("there is no remote 'nowhere'"))
    }

    /// An operand that looks like a place on a server is one even if a local file has that name, as with scp.
    @Test func aPlaceWinsOverAFileOfItsName() throws {
        let (server, surroundings) = try Self.server()
        try writeFile(server.home.path("here/a:b"), "content".utf8)
        let push = try Finished(["push", "a:b", "home:"], surroundings)
        #expect(push.end == .exited(2) && push.errors.contains("write: transfer push ./a:b home:\n"), "\(push.errors)")
        #expect(server.visibleFiles == [])
    }

    @Test func aHomeThatIsNotThereIsSaidToBeNone() throws {
        for line in [["key"], ["trust", "list"], ["remote", "add", "a", "h"]] {
            let finished = try Finished(line, Surroundings())
            #expect(finished.end != .exited(0))
            let message = "HOME is '/nonexistent', which is no folder of this user (No such file or directory)"
            #expect(finished.errors.contains(message), "\(finished.errors)")
            let nobody = try Finished(line, Surroundings(environment: [:]))
            #expect(nobody.errors.contains("set HOME or XDG_CONFIG_HOME"), "\(nobody.errors)")
        }
    }

    /// The flags take the same forms as the operands.
    @Test(arguments: ["home:x", "home:~/x", "transfer://ADDRESS/x", "ADDRESS:/x"])
    func flagsTakeTheSameForms(_ form: String) throws {
        let (server, surroundings) = try Self.server()
        let place = form.split(separator: "ADDRESS", omittingEmptySubsequences: false).joined(separator: server.address)
        try writeFile(server.home.path("here/note"), "content".utf8)
        try Self.run(["push", "note", "--to", place], surroundings)
        #expect(server.visibleFiles == ["x/note"])
        try Self.run(["cat", "note", "--from", place], surroundings, output: "content")
    }

    @Test func aForgottenColonIsSaid() throws {
        let (server, surroundings) = try Self.server()
        try writeFile(server.home.path("here/note"), "content".utf8)
        let push = try Finished(["push", "note", "home"], surroundings)
        #expect(push.end == .exited(2) && push.errors.contains("write: transfer push note home:\n"), "\(push.errors)")
        try writeFile(server.home.path("here/home"), "content".utf8)
        try Self.run(["push", "note", "home", "home:"], surroundings)
        #expect(server.visibleFiles == ["home", "note"])
    }

    /// The address of a Unix socket cannot contain a folder.
    @Test func aSocketAndALinkArePlacesToPushTo() throws {
        let home = try TemporaryDirectory()
        let server = try RunningServer(in: home, at: "unix:\(home.path("socket"))")
        let push = try Finished(["push", "--plaintext", photo, "unix:\(home.path("socket"))"])
        #expect(push.end == .exited(0), "\(push.errors)")
        #expect(server.visibleFiles == ["demo.png"])
        let other = try SecureServer(["--advertise", "127.0.0.1"], at: "0.0.0.0:0", user: "owner")
        try other.program.waitForOutput("'\n")
        let link = String(try #require(other.program.outputText.split(separator: "'").dropFirst().first))
        let first = try Finished(["push", "--text", "x", link], other.surroundings())
        #expect(first.end == .exited(0) && !first.errors.contains("pair_"), "\(first.errors)")
        #expect(other.storedFiles == ["text.txt"])
    }
}
