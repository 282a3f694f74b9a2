import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferTestSupport

@testable import TransferCLI

/// The output of real commands conforms to docs/reference/transfer.schema.json.
@Suite(.ownThreads) struct DocumentedSchemaTests {
    private let schema: DocumentedSchema

    init() throws {
        schema = try DocumentedSchema()
    }

    @Test func uploadsAndReceipts() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["a", "b", "c \"odd\"\n\u{1B}"])
        try writeFile(files.home.path("long"), randomBytes(9 << 20, seed: 1))
        try writeFile(files.home.path("photo"), readFile(photo))
        let operands = ["a", "b", "c \"odd\"\n\u{1B}", "long", "photo", "/nonexistent", "--text", "x"]
        let flags = ["--json", "--receipts", "receipts"]
        let push = try server.push(operands + flags, files.here)
        try expect(push.lines, are: "upload", count: 7)
        try expect(try server.push(operands + flags + ["--delete-source"], files.here).lines, are: "upload", count: 7)
        let sha = try server.push([photo, "--text", "x", "--digest", "sha256", "--on-conflict", "skip", "--json"])
        try expect(sha.lines, are: "upload", count: 2)
        let checked = try server.push([photo, "--verify-pictures", "--json"])
        try expect(checked.lines, are: "upload", count: 1)
        #expect(checked.output.contains(#""picture":{"decoded":true,"#), "\(checked.output)")
        let receipts = try Finished(["receipt", "show", "--json", files.home.path("receipts")])
        try expect(receipts.lines, are: "receipt", count: 12)
        let verify = ["receipt", "verify", "--json", files.home.path("receipts")]
        let good = try Finished(verify)
        try expect(good.lines, are: "receiptCheck", count: 1)
        #expect(good.end == .exited(0) && good.output.contains(#""good":12,"bad":0,"contentCompared":false"#))
        let elsewhere = try Finished(verify + ["--against", files.home.path])
        #expect(elsewhere.end == .exited(1))
        try expect(elsewhere.lines.dropLast(), are: "receiptFinding", count: elsewhere.lines.count - 1)
        try expect(elsewhere.lines.suffix(1), are: "receiptCheck", count: 1)
    }

    /// A command that fails prints a JSON object with the reason, for programs that read only JSON objects.
    @Test func failures() throws {
        let peer = try FakeServer()
        peer.refuse()
        let server = ["--plaintext", "--to", peer.address]
        let from = ["--plaintext", "--from", peer.address]
        let commands = [
            ["push", photo] + server, ["list"] + from, ["pull", "a"] + from, ["stat", "a"] + from,
            ["remove", "a"] + from, ["mkdir", "a"] + from,
            ["move", "a", "b"] + from, ["trash", "list"] + from, ["trash", "restore", "a"] + from, ["inbox"] + server,
            ["sent"] + server, ["people"] + server, ["whoami"] + server, ["receive"] + server,
        ]
        for command in commands {
            let run = try Finished(command + ["--json"])
            #expect(run.end == .exited(3), "\(command)")
            try expect(run.lines, are: "failure", count: 1)
            #expect(run.output.contains(#""reason":"unreachable","result":null,"#) && run.output.contains(#":3}"#))
        }
    }

    @Test func deliveryReceipts() throws {
        let delivered = try Delivered()
        let receipts = try Finished(["receipt", "show", "--json", delivered.receipts])
        try expect(receipts.lines, are: "deliveryReceipt", count: Delivered.names.count)
        try expect(try delivered.verify(["--json"]).lines, are: "receiptCheck", count: 1)
        unlink(delivered.home.path("a"))
        let missing = try delivered.verify(["--json", "--against", delivered.home.path])
        try expect(missing.lines.dropLast(), are: "receiptFinding", count: 1)
        try expect(missing.lines.suffix(1), are: "receiptCheck", count: 1)
    }

    @Test func plans() throws {
        let files = try BatchFiles(["a"])
        let run = try Finished(["push", "a", "--text", "x", "-n", "--json"], files.here)
        try expect(run.lines, are: "plan", count: 2)
        let stream = try Finished(["push", "-", "--name", "s", "-n", "--json"])
        try expect(stream.lines, are: "plan", count: 1)
    }

    @Test func progress() throws {
        let peer = try FakeServer()
        let push = try Program(
            ["push", photo, "--text", "x", "--plaintext", "--to", peer.address, "--progress", "json", "--lanes", "1"])
        let first = try peer.accept()
        try first.send(.welcome(Welcome()))
        let (id, end) = try first.uploads(1)[0]
        try first.send(.received(Received(id: id, bytes: end.size / 2)))
        try push.waitForError("\"phase\":\"sending\",\"bytes\"")
        first.close()
        let second = try peer.accept()
        try second.send(.welcome(Welcome()))
        for (id, end) in try second.uploads(2) {
            try second.send(.result(UploadResult(id: id, code: .committed, size: end.size, digest: end.digest)))
        }
        let finished = try Finished(push)
        #expect(finished.end == .exited(0), "\(finished.errors)")
        var events: Set<String> = []
        for line in finished.errors.split(separator: "\n") {
            let names = try schema.matches(JSONReader.read(Array(line.utf8)))
            #expect(names.count == 1, "\(names): \(line)")
            events.formUnion(names)
        }
        #expect(events == ["connected", "reconnecting", "progress", "message"])
    }

    @Test func status() throws {
        let server = try RunningServer(["--quota", "1G"])
        let push = try server.startPush(["-", "--name", "s"], Surroundings(input: .pipe))
        try push.write(randomBytes(5 << 20, seed: 2))
        try server.program.waitForError("started s")
        let here = ["--dir", server.directory, "--json"]
        try expect(try Finished(["status"] + here).lines, are: "status", count: 1)
        push.closeInput()
        #expect(try push.wait() == .exited(0))
        try expect(try Finished(["status"] + here).lines, are: "status", count: 1)
    }

    @Test func findings() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["gone", "rotten", "changed", "well"])
        #expect(try files.push(server, "gone", "rotten", "changed", "well").end == .exited(0))
        server.program.signal(SIGTERM)
        _ = try server.program.wait()
        unlink("\(server.directory)/gone")
        let rotten = "\(server.directory)/rotten"
        var status = stat()
        #expect(stat(rotten, &status) == 0)
        try writeFile(rotten, "ROTTEN".utf8)
        #expect(utimensat(AT_FDCWD, rotten, [status.st_mtim, status.st_mtim], 0) == 0)
        let old = timespec(tv_sec: 1_000, tv_nsec: 0)
        for name in ["changed", "untracked"] {
            try writeFile("\(server.directory)/\(name)", "other".utf8)
            #expect(utimensat(AT_FDCWD, "\(server.directory)/\(name)", [old, old], 0) == 0)
        }
        for flags in [[], ["--repair-catalog"]] {
            let run = try Finished(["verify", "--dir", server.directory, "--json"] + flags)
            #expect(run.lines.count >= 3, "\(run.output) \(run.errors)")
            try expect(Array(run.lines.dropLast()), are: "finding", count: run.lines.count - 1)
            try expect(Array(run.lines.suffix(1)), are: "scrub", count: 1)
        }
    }

    @Test func theOtherDirection() throws {
        let server = try RunningServer()
        let files = try BatchFiles(["in/a", "in/deep/b"])
        #expect(try files.push(server, "in").end == .exited(0))
        // A file that no client has pushed.
        try writeFile("\(server.directory)/in/own", "x".utf8)
        let list = try server.run(["list", "-R", "--json"])
        try expect(list.lines, are: "entry", count: 5)
        try expect(try server.run(["stat", "in", "in/a", "--json"]).lines, are: "entry", count: 2)
        let target = files.home.path("out")
        try expect(try server.run(["pull", "in", "gone", "-o", target, "--json"]).lines, are: "download", count: 4)
        let plan = ["pull", "in", "gone", "-o", files.home.path("none"), "--dry-run", "--json"]
        try expect(try server.run(plan).lines, are: "plan", count: 3)
        let talk = try server.run(["pull", "in", "gone", "-o", files.home.path("again"), "--progress", "json"]).errors
        let events = try talk.split(separator: "\n").map { try schema.matches(JSONReader.read(Array($0.utf8))) }
        #expect(Set(events) == [["connected"], ["progress"], ["message"]], "\(talk)")
        try expect(try server.run(["mkdir", "in/new", "../x", "--json"]).lines, are: "change", count: 2)
        try expect(try server.run(["move", "in/own", "in/other", "--json"]).lines, are: "change", count: 1)
        try expect(try server.run(["remove", "in/a", "gone", "--json"]).lines, are: "removal", count: 2)
        try expect(try server.run(["remove", "-r", "in", "--json"]).lines, are: "removal", count: 1)
    }

    @Test func remotesAndSettings() throws {
        let home = try TemporaryDirectory()
        try makeDirectory(home.path("transfer"))
        let text = "[push]\nlanes = 2\nexclude = ['a', 'b']\n[remote.nas]\naddress = 'nas:1/f'\nquiet = true\n"
        try writeFile(home.path("transfer/config.toml"), text.utf8)
        let environment = ["XDG_CONFIG_HOME": home.path, "TRANSFER_SERVER": "nas:"]
        let remotes = try Finished(["remote", "list", "--json"], Surroundings(environment: environment))
        try expect(remotes.lines, are: "remote", count: 1)
        let show = ["config", "show", "--json"]
        let settings = try Finished(show, Surroundings(environment: environment))
        try expect(settings.lines, are: "setting", count: settings.lines.count)
        for origin in ["environment", "remote", "file", "default"] {
            #expect(settings.output.contains("\"origin\":\"\(origin)\""), "\(origin)")
        }
    }

    @Test func accessAndTrust() throws {
        let home = try TemporaryDirectory()
        try makeDirectory(home.path("in"))
        let surroundings = Surroundings(environment: ["XDG_CONFIG_HOME": home.path("config")])
        func run(_ words: String...) throws -> Finished { try Finished(words, surroundings) }
        let first = try run("key", "--json")
        try expect(first.lines, are: "key", count: 1)
        #expect(first.output.contains(#""created":true,"previousPath":null"#) && first.errors.isEmpty)
        let line = try run("key").output.split(separator: "\n").first.map(String.init) ?? ""
        #expect(first.output.contains("\"line\":\"\(line)\""))
        let bounds = ["--folder", "a/b", "--quota", "1G", "--read-only", "--expires", "30d"]
        let added = try Finished(["access", "add", "--dir", home.path("in"), line] + bounds, surroundings)
        #expect(added.end == .exited(0), "\(added.errors)")
        _ = try run("access", "token", "create", "--dir", home.path("in"), "--name", "camera")
        let keys = try run("access", "list", "--dir", home.path("in"), "--json")
        try expect(keys.lines, are: "access", count: 1)
        let found = #""folder":"a/b","quota":1073741824,"maxFiles":null,"maxUpload":null,"rights":"read-only""#
        #expect(keys.output.contains(found))
        try expect(
            try run("access", "token", "list", "--dir", home.path("in"), "--json").lines, are: "access", count: 1)
        let token = ["access", "token", "create", "--dir", home.path("in"), "--name", "t", "--json"]
        let issued = try Finished(token + bounds, surroundings)
        try expect(issued.lines, are: "issued", count: 1)
        #expect(issued.errors.isEmpty && issued.output.contains(#""secret":"transfer_"#))
        let link = try run("access", "pair", "--dir", home.path("in"), "--advertise", "nas.local", "--json")
        try expect(link.lines, are: "issued", count: 1)
        #expect(
            link.errors.contains("No server is running") && link.output.contains(#""secret":"transfer://nas.local"#))
        let web = try run(
            "access", "pair", "--dir", home.path("in"), "--web", "--url", "https://nas.local", "--json")
        try expect(web.lines, are: "issued", count: 1)
        try expect(
            try run("access", "token", "list", "--dir", home.path("in"), "--json").lines, are: "access", count: 4)
        _ = try run("trust", "add", "nas.local", "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU")
        try expect(try run("trust", "list", "--json").lines, are: "trust", count: 1)
        try expect(try run("key", "new", "--json").lines, are: "key", count: 1)
    }

    /// A schema that accepted everything would prove nothing.
    @Test(arguments: [
        #"{"schema":"transfer.plan/2","source":"a","destination":"a","size":1}"#,
        #"{"schema":"transfer.plan/1","source":"a","destination":"a","size":1.5}"#,
        #"{"schema":"transfer.plan/1","source":"a","destination":"a","size":-1}"#,
        #"{"schema":"transfer.plan/1","source":"a","destination":"a"}"#,
        #"{"schema":"transfer.plan/1","source":"a","destination":"a","size":1,"more":1}"#,
        #"{"schema":"transfer.plan/1","source":null,"destination":"a","size":1}"#, "{}", "[]", "null",
    ])
    func whatItRefuses(_ text: String) throws {
        #expect(try schema.matches(JSONReader.read(Array(text.utf8))) == [])
        let good = #"{"schema":"transfer.plan/1","source":"a","destination":"a","size":null}"#
        #expect(try schema.matches(JSONReader.read(Array(good.utf8))) == ["plan"])
    }

    private func expect(_ lines: some Collection<Substring>, are name: String, count: Int) throws {
        #expect(lines.count == count)
        for line in lines {
            let names = try schema.matches(JSONReader.read(Array(line.utf8)))
            #expect(names == [name], "\(names): \(line)")
        }
    }
}
