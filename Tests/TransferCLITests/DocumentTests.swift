import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferCLI

/// The documents contain no command that the program refuses.
@Suite(.ownThreads) struct DocumentTests {
    private static let folder =
        "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/") + "/docs"

    private static let root = folder.split(separator: "/").dropLast().reduce(into: "") { $0 += "/\($1)" }

    /// All documents of the repository except the changelog.
    private static let documents =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
        + ["docs", "Sources"].flatMap { folder in
            TransferCLITests.files(below: "\(root)/\(folder)").filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
        }

    /// A shell parses the code blocks, as it would for a reader. Each `transfer` command then prints its words, and all
    /// other commands do nothing.
    @Test(arguments: documents) func everyCommandIsUnderstood(_ document: String) throws {
        for block in try Self.blocks(of: document) {
            let commands = try Self.commands(of: block)
            // Counts the lines, because a command that ends the block early would hide the commands after it.
            let lines = block.split(separator: "\n").filter { $0.hasPrefix("transfer ") }.count
            #expect(commands.count >= lines, "\(block)")
            for arguments in commands {
                guard case .run = try Invocation(arguments, sources: .none) else {
                    Issue.record("\(arguments)")
                    continue
                }
            }
        }
    }

    /// Code spans name only commands and flags that exist. Their operands may stand for anything.
    @Test(arguments: documents) func everyMentionIsUnderstood(_ document: String) throws {
        let spans = try MarkdownDocument(document).codeSpans.filter { span in
            span.hasPrefix("transfer ") && !span.contains("…") && !Self.noCommands.contains(span)
        }
        let block = spans.map { $0.replacing("\\|", with: "|") }.joined(separator: "\n")
        for arguments in try Self.commands(of: block[...]) {
            do throws(UsageError) {
                _ = try Invocation(arguments, sources: .none)
            } catch {
                #expect(!error.message.hasPrefix("unknown "), "\(arguments): \(error.message)")
            }
        }
    }

    /// Code spans that begin like a command and are not commands: the first words of signed notes, and a placeholder.
    private static let noCommands = [
        "transfer receipts 1", "transfer deliveries 1", "transfer browser certificate 1", "transfer server key v1",
        "transfer help COMMAND",
    ]

    /// Runs each line of the table of first steps, with files of the names it uses and a server, and compares the
    /// effect with the text beside it.
    @Test func whatCanBePushedIs() throws {
        let server = try SecureServer(["--trash"], user: "owner")
        let here = server.home.path("here")
        for folder in ["here", "here/holiday", "here/logs", "here/photos", "here/photos/2019", "bin"] {
            try makeDirectory(server.home.path(folder))
        }
        let names = [
            "song.flac", "1.jpg", "holiday/2.jpg", "holiday/3.txt", "photos/2019/4.jpg", "logs/log", "draft.txt",
        ]
        for name in names {
            try writeFile("\(here)/\(name)", name.utf8)
        }
        try writeFile("\(here)/photo.png", readFile(photo))
        try writeFile("\(here)/list", "photo.png\n".utf8)
        let program = try Spawner.executable()
        try system("symlink") { symlink(program, server.home.path("bin/transfer")) }
        var bash = server.surroundings(user: "owner")
        bash.executable = "/bin/bash"
        bash.directory = here
        bash.environment["PATH"] = server.home.path("bin") + ":/usr/bin:/bin"
        bash.environment["TRANSFER_SERVER"] = server.address
        // The rows that move a file need this one on the server.
        #expect(try Finished(["-c", "transfer push draft.txt photos"], bash).end == .exited(0))
        let rows = try Self.tableOfUses()
        #expect(rows.count > 10)
        for row in rows {
            // One row removes this file, and another row needs it.
            #expect(try Finished(["-c", "transfer push --text x --name note.txt"], bash).end == .exited(0))
            // A table cell escapes the bar, and this test has another server address.
            let line = ["127.0.0.1:5288", "nas.local"].reduce(row.replacing("\\|", with: "|")) { line, host in
                line.replacing(host, with: server.address)
            }
            // A watch runs until it is stopped: see `WatchTests`.
            let commands = line.split(separator: "`").filter { part in
                part.contains("transfer ") && !part.contains("transfer watch")
            }
            for command in commands {
                let run = try Finished(["-c", "set -o pipefail; \(command)"], bash)
                #expect(run.end == .exited(0), "\(command)\n\(run.errors)")
            }
        }
        let stored = ["photo.png", "song.flac", "logs.tar", "holiday/2.jpg", "final.txt"]
        #expect(Set(server.storedFiles).isSuperset(of: stored))
    }

    private static func tableOfUses() throws -> [Substring] {
        let text = try String(decoding: readFile("\(folder)/guide/first-steps.md"), as: UTF8.self)
        guard let start = text.firstRange(of: "| what | how |\n|---|---|\n") else { return [] }
        return text[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
            .prefix { $0.hasPrefix("|") }
    }

    private static func blocks(of document: String) throws -> [Substring] {
        let text = try String(decoding: readFile("\(root)/\(document)"), as: UTF8.self)
        return text.split(separator: "```sh\n").dropFirst().compactMap { $0.split(separator: "\n```").first }
    }

    /// A server writes the log lines that docs/guide/server.md describes.
    @Test func theLogIsAsDescribed() throws {
        let home = try TemporaryDirectory()
        let address = "unix:" + home.path("socket")
        let server = try Program(
            ["serve", "--dir", home.path("in"), "--listen", address, "--plaintext", "--log-format", "json"])
        try server.waitForError(#""event":"listening""#)
        #expect(try Finished(["push", photo, "--plaintext", "--to", address]).end == .exited(0))
        try server.waitForError(#""event":"stored""#)
        server.signal(SIGTERM)
        #expect(try server.wait() == .exited(0))
        let document = try MarkdownDocument("docs/guide/server.md")
        let rows = document.table(below: "## The log")
        for event in ["listening", "stored", "stopping"] {
            let row = try #require(rows.first { $0[0].split(separator: ", ").contains(Substring(event)) })
            let lines = server.errorText.split(separator: "\n")
            let line = try #require(lines.first { $0.contains("\"event\":\"\(event)\"") })
            guard case .object(let members) = try JSONReader.read(Array(line.utf8)) else { throw Self.noObject }
            let names = members.map(\.key)
            #expect(names.prefix(3) == ["time", "level", "event"], "\(line)")
            let described = row[1].split { $0 == "," || $0 == " " || $0 == ";" }.map(String.init)
            #expect(names.dropFirst(3).allSatisfy(described.contains) && names.count > 3, "\(line)")
        }
    }

    private static let noObject = Program.Failure(description: "the line of a log is no object")

    /// Runs the script from the guide unchanged except for its paths.
    @Test func theNightlyBatchRuns() throws {
        let server = try RunningServer(["--max-upload", "3"])
        let home = server.home
        let text = try String(decoding: readFile("\(Self.folder)/guide/batches.md"), as: UTF8.self)
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
        let functions = """
            transfer() { printf '%s\\037' "$@" >> '\(words)'; printf '\\036' >> '\(words)'; }
            sudo() { shift 2; "$@"; }
            command_not_found_handle() { :; }
            PATH=/nonexistent\n
            """
        _ = try Finished(
            ["-c", functions + block + "\nwait"], Surroundings(executable: "/bin/bash", directory: directory.path))
        let text = try String(decoding: readFile(words), as: UTF8.self)
        return text.split(separator: "\u{1E}").map { $0.split(separator: "\u{1F}").map(String.init) }
    }
}
