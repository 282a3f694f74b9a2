import Glibc
import Testing
import TransferTestSupport

/// Servers in operands, as scp takes them, with the real program.
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
                    "TRANSFER_PULL_PLAINTEXT": "true", "TRANSFER_LIST_PLAINTEXT": "true", "TRANSFER_CAT_PLAINTEXT": "true",
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
        #expect(try readFile(server.home.path("here/there/a:b")) == Array("content".utf8))
        try Self.run(["mkdir", "\(place)y"], surroundings)
        try Self.run(["move", "\(place)x/a:b", "\(place)y/"], surroundings)
        #expect(server.visibleFiles == ["y/a:b"])
        try Self.run(["remove", "\(place)y/a:b"], surroundings)
        #expect(server.visibleFiles == [])
    }
}
