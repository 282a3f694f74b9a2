import Glibc
import Testing
import TransferModel
import TransferTestSupport

/// `transfer inbox`, `receive` and `sent` with sealed deliveries.
@Suite(.ownThreads) struct SealedReceiveRunTests {
    private let people: Correspondence

    init() throws {
        people = try Correspondence()
        try writeFile(people.file("a.txt"), "a secret".utf8)
    }

    @Test func itIsOpenedAndShown() throws {
        try people.send(["a.txt"])
        let (listed, sent) = (try people.ask("bob", ["inbox"]), try people.ask("alice", ["sent"]))
        #expect(listed.output.contains("8 B") && listed.output.hasSuffix("text  a.txt (sealed)\n"))
        #expect(sent.output.contains("8 B  a.txt (sealed)"))
        let waiting = try people.ask("bob", ["inbox", "--json"]).object()
        #expect(waiting["name"] == "a.txt" && waiting["size"] == "8" && waiting["sealed"] == "true")
        let received = try people.receive(["--json"])
        let object = try received.object()
        #expect(received.end == .exited(0) && object["result"] == "committed" && object["state"] == "delivered")
        #expect(object["name"] == "a.txt" && object["kind"] == "text" && object["sealed"] == "true")
        let key = try people.fingerprint(of: "alice")
        #expect(received.errors.contains("alice's key is \(key), seen for the first time"))
        #expect(people.received == ["a.txt"])
        #expect(try readFile(people.inbox + "/a.txt") == Array("a secret".utf8))
        try writeFile(people.file("b.txt"), "another".utf8)
        try people.send(["b.txt"])
        let second = try people.receive()
        #expect(second.output == "delivered  b.txt  from alice  7 B, sealed\n")
        #expect(!second.errors.contains("first time"))
    }

    @Test func objectsAreAsTheSchemaSays() throws {
        let schema = try DocumentedSchema()
        try people.send(["a.txt"])
        let (listed, sent) = (try people.ask("bob", ["inbox", "--json"]), try people.ask("alice", ["sent", "--json"]))
        let received = try people.receive(["--json"])
        for (output, name) in [(listed, "delivery"), (sent, "delivery"), (received, "received")] {
            #expect(output.lines.count == 1)
            for line in output.lines { #expect(try schema.matches(JSONReader.read(Array(line.utf8))) == [name]) }
        }
    }

    @Test func outputIsOpened() throws {
        try people.send(["a.txt"])
        let read = try people.ask("bob", ["receive", "--output", "-"])
        #expect(read.end == .exited(0) && read.output == "a secret" && read.errors.contains("first time"))
        #expect(try people.ask("bob", ["inbox"]).output == "")
        try people.send(["a.txt"], ["--seal", "--name", "again"])
        let file = people.server.home.path("chosen")
        #expect(try people.ask("bob", ["receive", "--output", file]).end == .exited(0))
        #expect(try readFile(file) == Array("a secret".utf8))
    }

    @Test func itStaysSealedWhereThatIsWanted() throws {
        try people.send(["a.txt"])
        #expect(try people.receive(["--no-open"]).end == .exited(0) && people.received == ["a.txt.age"])
        #expect(try readFile(people.inbox + "/a.txt.age").starts(with: "age-encryption.org/v1\n".utf8))
        let (key, file) = (people.sealingKey, people.inbox + "/a.txt.age")
        guard try ChildLaunch.shell("command -v age >/dev/null 2>&1") == 0 else { return }
        let out = people.server.home.path("opened")
        #expect(try ChildLaunch.shell("age -d -i '\(key)' -o '\(out)' '\(file)' >/dev/null 2>&1") == 0)
        #expect(try readFile(out) == Array("a secret".utf8))
    }

    /// Only the server names the sender here, which proves nothing.
    @Test func whatNobodyHasSignedIsFromNobody() throws {
        let schema = try DocumentedSchema()
        try people.send(["a.txt"])
        let unopened = try people.receive(["--no-open", "--json"])
        let object = try unopened.object()
        #expect(object["from"] == "null" && object["sealed"] == "false" && object["seal"] == "unopened")
        #expect(object["message"]?.contains("the server names alice") ?? false)
        #expect(try schema.matches(JSONReader.read(Array(unopened.lines[0].utf8))) == ["received"])
        // The delivery that a server would pass on if it dropped the signed note.
        try writeFile(people.file("sealed.age"), readFile(people.inbox + "/a.txt.age"))
        try people.send(["sealed.age"], [])
        #expect(try people.ask("bob", ["inbox"]).output.hasSuffix("sealed.age (not signed)\n"))
        let kept = try people.receive(["--json", "--keep"])
        let unsigned = try kept.object()
        #expect(unsigned["from"] == "null" && unsigned["sealed"] == "false" && unsigned["seal"] == "unsigned")
        #expect(try schema.matches(JSONReader.read(Array(kept.lines[0].utf8))) == ["received"])
        let read = try people.ask("bob", ["receive", "--output", "-", "--keep"])
        #expect(read.output == "a secret")
        #expect(read.errors.contains("sealed but not signed, so anyone could have sealed it"))
        let line = try people.receive().output
        #expect(line.contains("not signed") && line.contains("the server names alice") && !line.contains("from alice"))
    }

    @Test func aProgramIsToldTheName() throws {
        let program = people.server.home.path("program")
        try writeFile(program, "#!/bin/sh\ncat >'\(people.server.home.path("said"))'\n".utf8)
        #expect(chmod(program, 0o755) == 0)
        try people.send(["a.txt"])
        #expect(try people.receive(["--exec", program]).end == .exited(0))
        let said = try JSONObject(
            Substring(String(decoding: readFile(people.server.home.path("said")), as: UTF8.self).dropLast()))
        #expect(said["name"] == "a.txt" && said["size"] == "8" && said["sealed"] == "true")
    }

    /// A client knows people by the key of the server's receipts and not by its certificate, which is replaced every
    /// few months. The server proves that the key is its own.
    @Test func anotherCertificateIsNoOtherServer() throws {
        let home = try TemporaryDirectory()
        let authority = try CertificateAuthority(at: home.path("authority.pem"))
        let (certificate, key) = (home.path("cert.pem"), home.path("key.pem"))
        let flags = ["--cert", certificate, "--key", key]
        let trusting = ["SSL_CERT_FILE": authority.path]
        try authority.issue("IP:127.0.0.1", to: certificate, key: key)
        let first = try Correspondence(flags, environment: trusting)
        for name in ["a.txt", "b.txt"] { try writeFile(first.file(name), name.utf8) }
        try first.send(["a.txt"])
        #expect(try first.receive().errors.contains("alice's key is"))
        let known = String(decoding: try readFile(first.knownPeople), as: UTF8.self)
        #expect(!known.contains(try first.server.fingerprint))
        try first.server.end()
        try authority.issue("IP:127.0.0.1", to: certificate, key: key)
        let second = try Correspondence(flags, after: first, environment: trusting)
        #expect(try second.server.fingerprint != first.server.fingerprint)
        try second.send(["b.txt"], ["--seal"])
        let received = try second.receive()
        #expect(received.output == "delivered  b.txt  from alice  5 B, sealed\n")
        #expect(!received.errors.contains("first time"))
        #expect(String(decoding: try readFile(second.knownPeople), as: UTF8.self) == known)
        let receipts = first.server.home.path("sent.jsonl")
        #expect(try second.ask("alice", ["sent", "--receipts", receipts]).end == .exited(0))
        #expect(try readFile(receipts).count(where: { $0 == UInt8(ascii: "\n") }) == 2)
    }

    /// Another user may have sent the delivery in alice's name.
    @Test func anotherKeyIsRefused() throws {
        try people.send(["a.txt"])
        #expect(try people.receive().end == .exited(0))
        let known = String(decoding: try readFile(people.knownPeople), as: UTF8.self)
        let other = String(repeating: "A", count: 42) + "E"
        let key = try people.fingerprint(of: "alice")
        let changed = known.split(separator: key, omittingEmptySubsequences: false).joined(separator: "SHA256:\(other)")
        try writeFile(people.knownPeople, changed.utf8)
        try people.send(["a.txt"], ["--seal", "--name", "b.txt"])
        let refused = try people.receive(["--json"])
        #expect(refused.end == .exited(1) && people.received == ["a.txt"])
        let object = try refused.object()
        #expect(object["result"] == "wrongSigner" && object["state"] == "queued" && object["path"] == "null")
        #expect(object["name"] == "sealed.age" && object["message"]?.contains("--trust alice") ?? false)
        #expect(try people.ask("bob", ["inbox"]).output.contains("sealed.age (sealed: Its note is signed by \(key)"))
        try writeFile(people.knownPeople, known.utf8)
        #expect(try people.receive().end == .exited(0) && people.received == ["a.txt", "b.txt"])
    }

    @Test func whatOneDoesNotWantIsDeclined() throws {
        try people.send(["a.txt"])
        #expect(try people.receive(["--accept", "none"]).output == "declined  a.txt  from alice  8 B, sealed\n")
        #expect(try people.ask("alice", ["sent"]).output.contains("declined"))
    }

    @Test func whoIsAskedSeesTheName() throws {
        try people.send(["a.txt"])
        var surroundings = people.server.surroundings(user: "bob")
        (surroundings.errors, surroundings.ownsTerminal) = (.terminal(columns: 80), true)
        let program = try Program(
            ["receive", people.inbox, "--accept", "ask", "--to", people.server.address], surroundings)
        try program.waitForError("a.txt (sealed), 8 B, text, from alice. Accept it?")
        try program.type("y")
        #expect(try program.wait() == .exited(0) && people.received == ["a.txt"])
    }

    // MARK: Killed

    private static let long = randomBytes(40 << 20, seed: 3)

    /// Kills the client when part of the delivery is opened and no file has its final name.
    @Test func killedWhileItOpens() throws {
        try killWhen {
            $0.opened(in: people.inbox) > 0
        } and: {
            access(people.inbox + "/long", F_OK) != 0
        }
        #expect(people.received.allSatisfy { $0.hasPrefix(".transfer-parts/") })
        #expect(try people.ask("bob", ["inbox", "--json"]).object()["name"] == "long")
        let object = try people.receive(["--json"]).object()
        #expect(object["result"] == "committed" && object["resumed"] == "\(40 << 20)")
        try expectOnce()
    }

    /// Kills the client when the file has its final name and the server may or may not know that.
    @Test func killedWhenItHasItsName() throws {
        try killWhen { _ in access(people.inbox + "/long", F_OK) == 0 }
        #expect(try readFile(people.inbox + "/long") == Self.long)
        #expect(try people.receive().end == .exited(0))
        try expectOnce()
    }

    /// Has bob receive a long delivery, and kills his client when `isSo` holds. If the client ended first, or `wasSo`
    /// is false after the kill, tries again with another delivery.
    private func killWhen(_ isSo: (Program) -> Bool, and wasSo: () -> Bool = { true }) throws {
        for _ in 0..<50 {
            try writeFile(people.file("long"), Self.long)
            try people.send(["long"])
            let program = try people.start("bob", ["receive", people.inbox])
            let isSeen = program.look(isSo)
            if isSeen { program.signal(SIGKILL) }
            let end = try program.wait()
            if isSeen, end == .killed(by: SIGKILL), wasSo() { return }
            #expect(try people.receive().end == .exited(0))
            unlink(people.inbox + "/long")
        }
        throw Program.Failure(description: "it was never seen")
    }

    /// A client that was killed during a sync leaves a mark of the sync.
    private func expectOnce() throws {
        #expect(people.received.filter { !$0.hasPrefix(".transfer-parts/sync-") } == ["long"])
        #expect(try readFile(people.inbox + "/long") == Self.long)
        #expect(try people.ask("bob", ["inbox"]).output == "")
        #expect(try people.ask("alice", ["sent"]).output.contains("delivered"))
    }
}

extension Program {
    /// Waits until `isSo` holds, and gives up when the program prints something.
    fileprivate func look(_ isSo: (Program) -> Bool) -> Bool {
        let end = time(nil) + time_t(Self.patience)
        while time(nil) < end, outputText.isEmpty {
            if isSo(self) { return true }
            sched_yield()
        }
        return false
    }

    /// Number of bytes in the unnamed files of a directory that the program has open.
    fileprivate func opened(in directory: String) -> Int {
        let folder = "/proc/\(process)/fd"
        return names(in: folder).reduce(0) { sum, name in
            var target = [CChar](repeating: 0, count: 4096)
            let count = readlink("\(folder)/\(name)", &target, target.count)
            let path = String(decoding: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard path.hasPrefix(directory), path.hasSuffix(" (deleted)") else { return sum }
            let number = open("\(folder)/\(name)", O_RDONLY | O_CLOEXEC)
            guard number >= 0 else { return sum }
            defer { close(number) }
            return sum + max(0, Int(lseek(number, 0, SEEK_END)))
        }
    }
}
