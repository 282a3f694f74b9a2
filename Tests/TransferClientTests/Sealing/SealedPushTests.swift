import CLinux
import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferTestSupport

@testable import TransferClient

@Suite struct SealedPushTests {
    private static let long = 5 * Limits.blockSize + 12_345

    private func opened(_ found: (delivery: Delivery, content: [UInt8]), _ key: SealingKey) throws -> SealedNote {
        try SealedNote(opening: #require(found.delivery.note), with: [key])
    }

    // MARK: Delivered files

    @Test func filesOfAllSizes() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let contents = ["a.txt": Array("a text\n".utf8), "empty": [], "long.bin": randomBytes(Self.long, seed: 1)]
            var uploads: [Upload] = []
            for (name, content) in contents.sorted(by: { $0.key < $1.key }) {
                try Files.write(mail.home.path("in/\(name)"), content)
                uploads.append(.path(mail.home.path("in/\(name)")))
            }
            #expect(chmod(mail.home.path("in/a.txt"), 0o640) == 0)
            let outcome = try await mail.push(uploads, for: ["bob"]) { $0.lanes = .fixed(4) }
            #expect(outcome.failure == nil && Set(outcome.codes) == [.committed], "\(outcome)")
            #expect(outcome.notices.count == 1 && outcome.notices[0].hasPrefix("bob's key is "))
            let bob = try mail.identity("bob").sealing
            let alice = try mail.identity("alice")
            let inbox = try await mail.inbox("bob")
            #expect(inbox.count == 3)
            for found in inbox {
                let note = try opened(found, bob)
                let content = try #require(contents[note.path.string])
                #expect(try SealingSample.opened(found.content, bob) == content)
                #expect(note.size == UInt64(content.count) && note.sender == alice.key.key)
                let opener = Opener([bob])
                var start: [UInt8] = []
                try opener.open(found.content.span.bytes, into: &start)
                #expect(opener.tag == note.tag)
                // The sender can read the note too, and the listing reveals no more.
                #expect(try opened(found, alice.sealing) == note)
                #expect(found.delivery.name == "sealed.age" && found.delivery.kind == .file)
                #expect(found.delivery.modified == nil && found.delivery.permissions == nil)
                let report = try #require(outcome[mail.home.path("in/\(note.path.string)")])
                #expect(report.isSealed && report.size == UInt64(content.count) && report.kind == note.kind)
                #expect(
                    report.digest == found.delivery.digest
                        && report.uploadID == UploadID(derivedFrom: note.tag.digest.bytes))
                let file = try #require(
                    SourcePlace(named: mail.home.path("in/\(note.path.string)"), followsLink: true).identity)
                #expect(note.modified == file.modified)
                #expect(note.permissions == (note.path.string == "a.txt" ? 0o640 : 0o644))
            }
            #expect(Set(try inbox.map { try opened($0, bob).kind }).contains(.text))
        }
    }

    /// A truncated note would be unreadable, so a note that is too long is refused before the upload begins.
    @Test func noNoteIsLongerThanTheWireTakes() throws {
        let sample = try SealingSample()
        let names = (10..<50).map { "\($0)" + String(repeating: "b", count: 200) }
        let readers = try (0..<100).map { _ in try SealingKey().recipient }
        func note(for count: Int) throws -> [UInt8]? {
            let push = SealedPush(sample.identity, server: "s", names: names, Array(readers.prefix(count)))
            let upload = PendingUpload(.bytes([1]), label: "a", destination: "a", kind: nil)
            return try push.seal(upload).sealed?.note()
        }
        let named = try #require(Recipients(names)).encoded.count
        let fits = try #require(try note(for: 10))
        #expect(fits.count + named <= Recipients.mostBytes)
        let failure = #expect(throws: Failure.self) { try note(for: 100) }
        #expect(failure?.code == .invalidPath)
    }

    @Test func textsAndStreams() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let long = randomBytes(3 * Limits.blockSize + 5, seed: 2)
            let pieces = stride(from: 0, to: long.count, by: 1 << 20).map {
                Array(long[$0..<min(long.count, $0 + 1 << 20)])
            }
            let outcome = try await mail.push(
                [
                    .text("a secret", name: "note"), .stream(PieceSource([Array("short".utf8)]), name: "short"),
                    .stream(PieceSource(pieces), name: "long"),
                ], for: ["bob"])
            #expect(outcome.failure == nil && Set(outcome.codes) == [.committed], "\(outcome)")
            let bob = try mail.identity("bob").sealing
            var seen: [String: SealedNote] = [:]
            for found in try await mail.inbox("bob") {
                let note = try opened(found, bob)
                seen[note.path.string] = note
                let content = ["note": Array("a secret".utf8), "short": Array("short".utf8), "long": long][
                    note.path.string]
                #expect(try SealingSample.opened(found.content, bob) == content)
                #expect(note.modified == nil && note.permissions == nil)
            }
            #expect(seen["note"]?.size == 8 && seen["short"]?.size == 5 && seen["note"]?.kind == .text)
            #expect(Set(seen.keys) == ["note", "short", "long"])
            // Streams and texts cannot be resumed by a later run, so no secrets are kept for them.
            #expect(names(in: mail.home.path("alice/sealing")).isEmpty)
        }
    }

    @Test func everyMachineOfEverybody() async throws {
        let machines = [("alice", "alice"), ("bob", "bob"), ("laptop", "bob"), ("carol", "carol")]
        try await SealedMail.with(machines) { mail in
            for machine in ["bob", "laptop", "carol", "carol"] { try await mail.client(machine).introduce() }
            #expect(try await mail.client("bob").introduce() == false)
            let outcome = try await mail.push([.text("hello", name: "a")], for: ["carol", "bob"])
            #expect(outcome.codes == [.committed] && outcome.notices.count == 3)
            for machine in ["bob", "laptop", "carol"] {
                let found = try #require(try await mail.inbox(machine).first)
                #expect(try SealingSample.opened(found.content, mail.identity(machine).sealing) == Array("hello".utf8))
            }
            let found = try #require(try await mail.inbox("bob").first)
            // Only the recipients can open the content; the sender has it already.
            #expect(throws: SealingError.notForYou) {
                try SealingSample.opened(found.content, mail.identity("alice").sealing)
            }
            let sent = await all(try mail.client("alice").sent(wantsReceipts: true)).events
            #expect(sent.count == 2)
            for delivery in sent {
                let note = try SealedNote(
                    opening: #require(delivery.note), with: [try mail.identity("alice").sealing])
                #expect(note.path.string == "a")
            }
        }
    }

    // MARK: Refused uploads

    @Test func nothingWithoutAKeyForEach() async throws {
        try await SealedMail.with { mail in
            for (people, words) in [
                (["bob"], "bob has not published a key"), (["carol"], "The server has no user called 'carol'"),
            ] {
                let outcome = try await mail.push([.text("x", name: "a")], for: people)
                #expect(outcome.failure?.message.contains(words) ?? false && outcome.reports.isEmpty)
            }
            try await mail.client("bob").introduce()
            let unarmed = try await mail.push([.text("x", name: "a")], for: ["bob"]) { $0.sealing = nil }
            #expect(unarmed.failure?.message.contains("Sealing needs a key") ?? false)
            let nobody = try await mail.push([.text("x", name: "a")], for: [])
            #expect(nobody.failure?.reason == .unsupported)
            #expect(try await mail.inbox("bob").isEmpty && mail.server.tree.isEmpty)
        }
    }

    /// The server presents a key for bob that differs from the one that alice knows.
    @Test func nothingForAKeyThatIsNotKnown() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let server = try await mail.client("alice").ask(isAboutItself: false).server
            let people = try mail.identity("alice").people
            #expect(try people.check(signer: KeyPair().key, named: "bob", on: server) == .first)
            let outcome = try await mail.push([.text("x", name: "a")], for: ["bob"])
            #expect(outcome.failure?.reason == .untrusted && outcome.reports.isEmpty)
            #expect(outcome.failure?.message.hasPrefix("THE KEY OF bob HAS CHANGED.") ?? false)
            #expect(try await mail.inbox("bob").isEmpty)
        }
    }

    @Test func aPushThatIsStoppedBeforeItBeginsIsStopped() async throws {
        let server = FakeServer { peer in
            peer.welcome(Welcome(features: [.files, .mail]))
            while peer.next() != nil {}
        }
        defer { server.stop() }
        let sample = try SealingSample()
        let client = try TransferClient(
            server: server.address,
            configuration: .plain { configuration in
                (configuration.recipients, configuration.seals, configuration.sealing) = (
                    ["bob"], true, sample.identity
                )
            })
        let events = client.push([.text("x", name: "a")])
        events.cancel()
        #expect(await Outcome(events).failure?.reason == .cancelled)
    }

    // MARK: Delivered once

    @Test func theSameFileIsDeliveredOnce() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            for (name, size) in [("short", 10), ("long", Self.long)] {
                try Files.write(mail.home.path(name), randomBytes(size, seed: 3))
                let uploads = [Upload.path(mail.home.path(name))]
                let first = try await mail.push(uploads, for: ["bob"])
                let place = try #require(names(in: mail.home.path("alice/sealing")).first)
                let record = try #require(Files.read(mail.home.path("alice/sealing/\(place)")))
                #expect(first.codes == [.committed] && record.first == UInt8(ascii: "R"))
                let second = try await mail.push(uploads, for: ["bob"])
                #expect(
                    second.codes == [.alreadyStored] && second.reports.first?.uploadID == first.reports.first?.uploadID)
                #expect(second.reports.first?.isSealed ?? false && second.reports.first?.size == UInt64(size))
                #expect(try await mail.inbox("bob").count == 1)
                // A declined file can be sent again, and is sealed with other secrets.
                let bob = try mail.client("bob")
                try await bob.decline(await all(bob.inbox()).events)
                let third = try await mail.push(uploads, for: ["bob"])
                #expect(third.codes == [.committed] && third.reports.first?.uploadID != first.reports.first?.uploadID)
                // A file with changed content is another upload.
                try Files.write(mail.home.path(name), randomBytes(size, seed: 4))
                let fourth = try await mail.push(uploads, for: ["bob"])
                #expect(fourth.codes == [.committed])
                #expect(try await mail.inbox("bob").count == 2)
                try await bob.settle(await all(bob.inbox()).events.verified)
                unlink(mail.home.path("alice/sealing/\(place)"))
            }
        }
    }

    /// A file that is named twice makes two uploads, which must not share secrets.
    @Test func aFileThatIsNamedTwiceIsTwoUploads() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            try Files.write(mail.home.path("a"), Array("content".utf8))
            let upload = Upload.path(mail.home.path("a"))
            let outcome = try await mail.push([upload, upload, .path(mail.home.path("a"), name: "b")], for: ["bob"])
            #expect(outcome.codes == [.committed, .committed, .committed])
            let inbox = try await mail.inbox("bob")
            #expect(Set(inbox.map(\.content)).count == 3)
            let bob = try mail.identity("bob").sealing
            #expect(try inbox.map { try opened($0, bob).path.string }.sorted() == ["a", "a", "b"])
        }
    }

    // MARK: Interruptions

    /// The server's content in the end is the content that the secrets of the first attempt produce.
    @Test(arguments: [false, true]) func goesOnWithTheSameBytes(_ isAnotherClient: Bool) async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let path = mail.home.path("long.bin")
            try Files.write(path, randomBytes(Self.long, seed: 5))
            // The first connection asks for the recipients' keys.
            let cuts = [CuttingProxy.Cut(), CuttingProxy.Cut(up: 3 * Limits.blockSize)]
            let proxy = CuttingProxy(to: mail.server.port, cuts: cuts)
            defer { proxy.stop() }
            let first = try await mail.push([.path(path)], for: ["bob"], at: proxy.address) { configuration in
                configuration.lanes = .fixed(1)
                configuration.retryFor = isAnotherClient ? 0 : 60
            }
            #expect((first.codes == [.committed]) == !isAnotherClient, "\(first)")
            if isAnotherClient {
                let states = names(in: mail.home.path("alice/sealing"))
                let place = mail.home.path("alice/sealing/\(try #require(states.first))")
                let state = try #require(Files.read(place))
                #expect(states.count == 1 && state.first == UInt8(ascii: "S"))
                let expected = try sealedBytes(path, mail)
                let second = try await mail.push([.path(path)], for: ["bob"])
                #expect(second.codes == [.committed] && second.reports.first?.uploadID == first.reports.first?.uploadID)
                #expect(try await mail.inbox("bob").map(\.content) == [expected])
                // Stands for a client that was killed when the acknowledgement arrived: the next run delivers nothing
                // twice.
                #expect(Files.read(place)?.first == UInt8(ascii: "R"))
                try Files.write(place, state)
                #expect(chmod(place, 0o600) == 0)
                let third = try await mail.push([.path(path)], for: ["bob"])
                #expect(
                    third.codes == [.alreadyStored] && third.reports.first?.uploadID == first.reports.first?.uploadID)
            }
            let inbox = try await mail.inbox("bob")
            #expect(inbox.count == 1)
            let bob = try mail.identity("bob").sealing
            #expect(try SealingSample.opened(inbox[0].content, bob) == randomBytes(Self.long, seed: 5))
        }
    }

    /// The sealed content that the stored secrets produce for a file.
    private func sealedBytes(_ path: String, _ mail: SealedMail) throws -> [UInt8] {
        let recipients = [try mail.identity("bob").sealing.recipient]
        let source = try SealedSource(SourcePlace(named: path, followsLink: true), kind: nil)
        let name = try #require(names(in: mail.home.path("alice/sealing")).first)
        let bytes = try #require(Files.read(mail.home.path("alice/sealing/\(name)")))
        let state = try SealingState(decoding: Array(bytes.dropFirst()), sealing: source.binding, for: recipients)
        let file = SealedFile(source, state, for: recipients, nil)
        return try file.open(0..<file.size).all()
    }

    /// A file that changes between two attempts is sealed again, with other secrets.
    @Test func aChangedFileHasOtherSecrets() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let path = mail.home.path("long.bin")
            try Files.write(path, randomBytes(Self.long, seed: 6))
            let proxy = CuttingProxy(to: mail.server.port, cuts: [.init(), .init(up: 3 * Limits.blockSize)])
            defer { proxy.stop() }
            let first = try await mail.push([.path(path)], for: ["bob"], at: proxy.address) { configuration in
                configuration.lanes = .fixed(1)
                configuration.retryFor = 0
            }
            let before = try sealedBytes(path, mail)
            try Files.write(path, randomBytes(Self.long, seed: 7))
            let second = try await mail.push([.path(path)], for: ["bob"])
            #expect(second.codes == [.committed] && second.reports.first?.uploadID != first.reports.first?.uploadID)
            let found = try #require(try await mail.inbox("bob").first)
            #expect(
                try SealingSample.opened(found.content, mail.identity("bob").sealing) == randomBytes(Self.long, seed: 7)
            )
            #expect(found.content.prefix(150) != before.prefix(150))
        }
    }

    // MARK: Knowledge of the server

    /// Searches all files of the server and all metadata that it received.
    @Test func theServerHasNothingOfIt() async throws {
        try await SealedMail.with { mail in
            try await mail.client("bob").introduce()
            let secret = "the plaintext that nobody must see"
            let path = mail.home.path("in/conspicuous-name.txt")
            try Files.write(path, secret)
            let times = [
                timespec(tv_sec: 1_234_567_890, tv_nsec: 987_654_321),
                timespec(tv_sec: 1_234_567_890, tv_nsec: 987_654_321),
            ]
            #expect(utimensat(AT_FDCWD, path, times, 0) == 0)
            let long = Array(repeating: Array(secret.utf8), count: (2 * Limits.blockSize + 100) / secret.utf8.count)
                .flatMap { $0 }
            try Files.write(mail.home.path("in/conspicuous-name.long"), long)
            let outcome = try await mail.push(
                [
                    .path(mail.home.path("in"), name: "conspicuous-folder"),
                    .text(secret, name: "conspicuous-name.note"),
                    .stream(PieceSource([long]), name: "conspicuous-name.stream"),
                ], for: ["bob"])
            #expect(outcome.codes == [.committed, .committed, .committed, .committed])
            let seconds = withUnsafeBytes(of: UInt64(1_234_567_890).bigEndian) { Array($0) }
            let words = [Array(secret.utf8), Array("conspicuous".utf8), seconds, Array("1234567890".utf8)]
            for (name, bytes) in allFiles(mail.home.path("store")) {
                for word in words { #expect(!contains(bytes, word), "\(name)") }
            }
        }
    }

    private func allFiles(_ path: String) -> [(name: String, bytes: [UInt8])] {
        names(in: path).flatMap { name -> [(name: String, bytes: [UInt8])] in
            let whole = "\(path)/\(name)"
            return isDirectory(whole) ? allFiles(whole) : [(whole, Files.read(whole) ?? [])]
        }
    }

    private func contains(_ bytes: [UInt8], _ word: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while let first = word.first, let front = UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                let found = memchr(front, Int32(first), rest.count)
            {
                rest = rest[(rest.startIndex + (UnsafeRawPointer(found) - front))...]
                if rest.starts(with: word) { return true }
                rest = rest.dropFirst()
            }
            return false
        }
    }
}
