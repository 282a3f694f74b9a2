import Glibc
import Testing
import TransferTestSupport

/// `transfer push --seal` and related commands, as users run them.
@Suite(.ownThreads) struct SealedPushRunTests {
    private let mail: MailServer

    init() throws {
        mail = try MailServer()
    }

    private func push(_ arguments: [String], for people: String = "bob") throws -> Finished {
        try mail.run(["push", "--seal", "--for", people] + arguments, as: "alice")
    }

    private func introduceBob() throws {
        #expect(try mail.run(["whoami"], as: "bob").end == .exited(0))
    }

    private var known: String {
        (try? readFile(mail.folder(of: "alice") + "/known_people")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // MARK: Keys

    @Test(arguments: ["whoami", "inbox"]) func aKeyIsMadeAndPublished(_ command: String) throws {
        let before = try push(["--text", "x", "--name", "a"])
        #expect(before.end == .exited(1), "\(before.errors)")
        #expect(
            before.errors.hasPrefix(
                "transfer: bob has not published a key to seal for; bob publishes one by running "
                    + "'transfer whoami'. Nothing was sent.\n"))
        #expect(try mail.run([command], as: "bob").end == .exited(0))
        #expect(try readFile(mail.folder(of: "bob") + "/sealing.key").starts(with: "# ".utf8))
        #expect(try push(["--text", "x", "--name", "a"]).end == .exited(0))
        #expect(try mail.stored.count == 1)
    }

    @Test func whoamiShowsThem() throws {
        let shown = try mail.run(["whoami"], as: "bob")
        let object = try mail.run(["whoami", "--json"], as: "bob").object()
        let (key, recipient) = (try #require(object["sealingFingerprint"]), try #require(object["ageRecipient"]))
        #expect(key.hasPrefix("SHA256:") && recipient.hasPrefix("age1") && object["fingerprint"] != key)
        #expect(shown.output.contains("sealing  \(key)\n") && shown.output.contains("age      \(recipient)\n"))
        let file = String(decoding: try readFile(mail.folder(of: "bob") + "/sealing.key"), as: UTF8.self)
        #expect(file.contains("# public key: \(recipient)\n"))
    }

    /// A command reports at once that the sealing key is unusable, because the user could not open a delivery later.
    /// The completion of names works without the key.
    @Test func aKeyThatIsNoneIsSaid() throws {
        _ = try mail.run(["key"], as: "bob")
        try writeFile(mail.folder(of: "bob") + "/sealing.key", Array("no key\n".utf8))
        let broken = try mail.run(["inbox"], as: "bob")
        #expect(
            broken.end == .exited(4) && broken.errors.contains("Your sealing key '"), "\(broken.errors)")
        #expect(try mail.run(["people", "--names"], as: "bob").end == .exited(0))
    }

    // MARK: Pins

    @Test func aKeyIsShownOnceAndComparedAfterwards() throws {
        try introduceBob()
        let bob = try mail.run(["whoami", "--json"], as: "bob").object()
        let first = try push(["--text", "x", "--name", "a", "--quiet"])
        let fingerprint = try #require(bob["fingerprint"])
        #expect(
            first.errors
                == "bob's key is \(fingerprint), seen for the first time; compare it with what 'transfer whoami' "
                + "says at bob's\n")
        #expect(try push(["--text", "x", "--name", "a", "--quiet"]).errors == "")
        #expect(known.contains(" bob \(fingerprint) \(try #require(bob["sealingFingerprint"])) "))
        let people = try mail.run(["people"], as: "alice")
        #expect(people.output.contains("seals with \(fingerprint) (known)\n"), "\(people.output)")
    }

    @Test func anotherMachineHasToBeAccepted() throws {
        try introduceBob()
        #expect(try push(["--text", "x", "--name", "a"]).end == .exited(0))
        try mail.admit("laptop", as: "bob")
        let laptop = try mail.run(["whoami", "--json"], as: "laptop").object()
        let other = try #require(laptop["fingerprint"])
        let second = try push(["--text", "x", "--name", "a"])
        #expect(second.end == .exited(0))
        #expect(second.errors.contains("bob has another key, \(other), "), "\(second.errors)")
        #expect(second.errors.contains("run 'transfer people --trust bob'"))
        // A command that names a fingerprint accepts no other key.
        let wrong = try mail.run(["people", "--trust", "bob=SHA256:" + String(repeating: "A", count: 43)], as: "alice")
        #expect(wrong.end != .exited(0) && wrong.errors.contains("no such key for 'bob', but "), "\(wrong.errors)")
        let one = try mail.run(["people", "--trust", "bob=\(other)"], as: "alice")
        #expect(one.end == .exited(0) && one.lines.count == 1 && one.output.contains(other), "\(one.errors)")
        let trusted = try mail.run(["people", "--trust", "bob"], as: "alice")
        #expect(trusted.end == .exited(0) && trusted.lines.count == 2 && trusted.output.contains(other))
        let third = try push(["--text", "x", "--name", "a"])
        #expect(third.end == .exited(0) && !third.errors.contains("key"), "\(third.errors)")
    }

    @Test func aChangedKeyIsRefused() throws {
        try introduceBob()
        #expect(try push(["--text", "x", "--name", "a"]).end == .exited(0))
        let line = try #require(known.split(separator: "\n").last)
        var words = line.split(separator: " ").map(String.init)
        words[2] = "SHA256:" + String(repeating: "A", count: 43)
        try writeFile(mail.folder(of: "alice") + "/known_people", Array((words.joined(separator: " ") + "\n").utf8))
        let refused = try push(["--text", "x", "--name", "a"])
        #expect(
            refused.end == .exited(4) && refused.errors.contains("THE KEY OF bob HAS CHANGED."), "\(refused.errors)")
        #expect(try mail.stored.count == 1)
        #expect(try mail.run(["people", "--forget", "bob"], as: "alice").end == .exited(0))
        let again = try mail.run(["people", "--forget", "bob"], as: "alice")
        #expect(again.end == .exited(1) && again.errors == "transfer: No key of 'bob' was known.\n")
        #expect(try push(["--text", "x", "--name", "a"]).errors.contains("seen for the first time"))
    }

    @Test(arguments: [
        (["push", "--seal", "a"], "--seal needs --for"),
        (["push", "--seal", "--for", "b", "--plaintext", "a"], "--seal needs this user's key"),
        (["people", "--trust", "a", "--forget", "b"], "--trust and --forget exclude each other"),
        (["people", "--trust", "a", "--json"], "cannot be combined with --names or --json"),
    ])
    func whatMakesNoSenseIsSaid(_ arguments: [String], _ words: String) throws {
        let finished = try Finished(arguments)
        #expect(finished.end == .exited(2) && finished.errors.contains(words), "\(finished.errors)")
    }

    // MARK: Contents

    @Test(.enabled(if: Age.isHere)) func ageOpensWhatIsStored() throws {
        try introduceBob()
        let content = randomBytes(100_000, seed: 1)
        try writeFile(mail.home.path("photo.bin"), content)
        let pushed = try push(["--json", mail.home.path("photo.bin")])
        #expect(pushed.end == .exited(0))
        #expect(try pushed.object()["sealed"] == "true" && pushed.object()["size"] == "100000")
        let sealed = try #require(try mail.stored.first)
        #expect(try Age.open(sealed, with: mail.folder(of: "bob") + "/sealing.key", in: mail.home) == content)
        #expect(throws: Program.Failure.self) {
            try Age.open(sealed, with: mail.folder(of: "alice") + "/sealing.key", in: mail.home)
        }
        let log = mail.server.program.errorText
        #expect(log.contains("committed sealed.age for bob") && !log.contains("photo.bin"))
    }

    /// A killed client leaves its secrets behind, and the same command continues with them.
    @Test(.enabled(if: Age.isHere)) func aKilledClientIsGoneOnWith() throws {
        try introduceBob()
        let content = randomBytes(30 << 20, seed: 2)
        try writeFile(mail.home.path("long.bin"), content)
        let command = ["push", "--seal", "--for", "bob", "--progress", "json", "--json", mail.home.path("long.bin")]
        let killed = try mail.start(command + ["--bandwidth", "10M", "--lanes", "1"], as: "alice")
        try killed.waitForError("\"bytes\":") { text in
            text.split(separator: "\"bytes\":").contains { UInt64($0.prefix(while: \.isNumber)) ?? 0 > 9 << 20 }
        }
        killed.signal(SIGKILL)
        _ = try killed.wait()
        let states = mail.folder(of: "alice") + "/sealing"
        let state = try #require(files(below: states).first)
        #expect(try readFile("\(states)/\(state)").first == UInt8(ascii: "S"))
        let second = try mail.run(command, as: "alice")
        #expect(second.end == .exited(0), "\(second.errors)")
        try mail.server.program.waitForError("resumed sealed.age, of which up to ")
        let id = try second.object()["uploadID"]
        #expect(try readFile("\(states)/\(state)").first == UInt8(ascii: "R"))
        let third = try mail.run(command, as: "alice")
        #expect(try third.object()["result"] == "alreadyStored" && third.object()["uploadID"] == id)
        let stored = try mail.stored
        #expect(stored.count == 1 && files(below: states).count == 1)
        let key = mail.folder(of: "bob") + "/sealing.key"
        #expect(try Age.open(#require(stored.first), with: key, in: mail.home) == content)
    }

    @Test func itIsWaitedForUnderItsName() throws {
        try introduceBob()
        let push = try mail.start(
            ["push", "--seal", "--for", "bob", "--text", "x", "--name", "my note", "--wait-delivered=0s"], as: "alice")
        let finished = try Finished(push)
        #expect(finished.end == .exited(7) && finished.errors.contains("not confirmed yet"))
        let waiting = try mail.start(
            ["push", "--seal", "--for", "bob", "--text", "y", "--name", "another", "--wait-delivered"], as: "alice")
        try waiting.waitForOutput("committed")
        #expect(try mail.run(["receive", "--accept", "none"], as: "bob").end == .exited(0))
        let declined = try Finished(waiting)
        #expect(
            declined.end == .exited(1) && declined.output.contains("declined  another  to bob\n"), "\(declined.output)")
    }

    /// Searches everything that the server has written for the plaintext.
    @Test func theServerHasNothingOfIt() throws {
        try introduceBob()
        let secret = "the plaintext that nobody must see"
        try makeDirectory(mail.home.path("in"))
        try writeFile(mail.home.path("in/conspicuous-name.txt"), Array(secret.utf8))
        #expect(try push([mail.home.path("in"), "--json"]).end == .exited(0))
        #expect(try push(["--text", secret, "--name", "conspicuous-note"]).end == .exited(0))
        try mail.server.end()
        let names = files(below: mail.server.directory)
        #expect(names.contains(".transfer/mail.sqlite"), "\(names)")
        for name in names {
            let bytes = try readFile("\(mail.server.directory)/\(name)")
            for word in [secret, "conspicuous"] {
                let isThere = bytes.indices.contains { bytes[$0...].starts(with: word.utf8) }
                #expect(!isThere, "\(name): \(word)")
            }
        }
        let log = mail.server.program.errorText
        #expect(log.contains("sealed.age") && !log.contains("conspicuous") && !log.contains(secret))
    }
}
