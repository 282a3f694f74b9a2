import Glibc
import Testing
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

/// The documents have no command that the program doesn't take.
@Suite(.ownThreads) struct DocumentTests {
    private static let folder =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/docs"

    /// A shell takes the lines apart, as it would for a reader; each command is then printed word by word.
    @Test(arguments: ["ACCESS", "CONFIGURATION", "TUTORIAL"]) func everyCommandIsUnderstood(_ name: String) throws {
        let text = try String(decoding: readFile("\(Self.folder)/\(name).md"), as: UTF8.self)
        let blocks = text.split(separator: "```sh\n").dropFirst().compactMap { $0.split(separator: "\n```").first }
        #expect(!blocks.isEmpty)
        for block in blocks {
            let commands = try Self.commands(of: block)
            #expect(commands.count >= 1, "\(block)")
            for arguments in commands {
                guard case .run = try Invocation(arguments, sources: .none) else {
                    Issue.record("\(arguments)")
                    continue
                }
            }
        }
    }

    /// What the shell would run is as it stands there, but for the places.
    @Test func theNightlyBatchRuns() throws {
        let server = try RunningServer(["--max-upload", "3"])
        let home = server.home
        let text = try String(decoding: readFile("\(Self.folder)/TUTORIAL.md"), as: UTF8.self)
        var script = try #require(text.split(separator: "```bash\n").dropFirst().first?.split(separator: "\n```").first)
            .description
        for (place, name) in [
            ("/var/backups", "backups"), ("/var/tmp/failed", "failed"), ("/var/log/push.jsonl", "log"),
        ] {
            #expect(script.contains(place))
            script = script.split(separator: place, omittingEmptySubsequences: false).joined(separator: home.path(name))
        }
        try writeFile(home.path("script"), Array(script.utf8))
        for folder in ["bin", "backups", "config", "config/transfer"] {
            try system("mkdir") { mkdir(home.path(folder), 0o700) }
        }
        let program = try Spawner.executable()
        try system("symlink") { symlink(program, home.path("bin/transfer")) }
        let remote = "[remote.nas]\naddress = \"\(server.address)\"\nplaintext = true\n"
        try writeFile(home.path("config/transfer/config.toml"), Array(remote.utf8))
        try writeFile(home.path("backups/a.tar"), [1, 2, 3])
        let bad = home.path("backups/b.tar")
        try writeFile(bad, [1, 2, 3, 4])
        var surroundings = Surroundings(executable: "/bin/bash")
        surroundings.environment["PATH"] = home.path("bin") + ":/usr/bin:/bin"
        surroundings.environment["XDG_CONFIG_HOME"] = home.path("config")
        let first = try Finished([home.path("script")], surroundings)
        #expect(first.end == .exited(1) && first.errors.contains("Some files could not be sent;"), "\(first.errors)")
        #expect(try server.stored("nightly/a.tar") == [1, 2, 3])
        #expect(try readFile(home.path("failed")) == Array("./b.tar\0".utf8))
        #expect(truncate(bad, 3) == 0)
        let second = try Finished([home.path("script")], surroundings)
        #expect(second.end == .exited(0), "\(second.errors)")
        let results = try String(decoding: readFile(home.path("log")), as: UTF8.self)
        #expect(results.split(separator: "\n").count == 4 && results.contains("alreadyStored"))
    }

    private static func commands(of block: Substring) throws -> [[String]] {
        let directory = try TemporaryDirectory()
        let words = directory.path("words")
        try writeFile(words, [])
        let function = "transfer() { printf '%s\\037' \"$@\" >> '\(words)'; printf '\\036' >> '\(words)'; }\n"
        let finished = try Finished(
            ["-c", function + block], Surroundings(executable: "/bin/sh", directory: directory.path))
        #expect(finished.end == .exited(0))
        let text = try String(decoding: readFile(words), as: UTF8.self)
        return text.split(separator: "\u{1E}").map { $0.split(separator: "\u{1F}").map(String.init) }
    }
}
