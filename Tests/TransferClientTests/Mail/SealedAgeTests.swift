import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferSealing
import TransferTestSupport

@testable import TransferClient

/// Files in the age format that stay sealed, and files that other programs sealed.
@Suite struct SealedAgeTests {
    private let here: TemporaryDirectory
    private let alice: Correspondent
    private let bob: Correspondent

    init() throws {
        (here, alice, bob) = (try TemporaryDirectory(), try Correspondent(), try Correspondent())
    }

    private var out: String { here.path("out") }
    private static let text = Array("a secret".utf8)

    private func content(_ path: String) -> [UInt8]? { Files.read("\(out)/\(path)") }

    private func sealed(_ path: String, _ content: [UInt8] = text) throws -> Parcel {
        try Parcel(path, content, by: alice.key, for: [bob.sealing])
    }

    private func receive(
        _ mailbox: FakeMailbox, _ change: (inout ReceiveOptions) -> Void = { _ in },
        configured: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> Received {
        var options = ReceiveOptions()
        change(&options)
        return try await Received(from: mailbox, to: out, options) { configuration in
            configuration.key = bob.key
            configuration.sealing = bob.identity(here.path("known_people"))
            configured(&configuration)
        }
    }

    private func client(_ server: FakeServer) throws -> TransferClient {
        try TransferClient(
            server: server.address,
            configuration: .plain { $0.sealing = bob.identity(here.path("known_people")) })
    }

    // MARK: Left sealed

    @Test func itStaysSealed() async throws {
        let mailbox = FakeMailbox()
        let (mail, carol) = (try sealed("photos/a.png"), try Correspondent())
        mailbox.deliver(mail)
        let other = try Parcel("b", [1], by: alice.key, for: [carol.sealing])
        mailbox.deliver(other)
        let received = try await receive(mailbox) { $0.opens = false }
        #expect(received.reports.map(\.path) == ["photos/a.png.age", "sealed.age"])
        #expect(content("photos/a.png.age") == mail.content && content("sealed.age") == other.content)
        #expect(mailbox.states == [.delivered, .delivered])
        #expect(received.reports.first?.size == UInt64(mail.content.count))
    }

    @Test func aNameWithoutRoomIsLeftOut() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed(String(repeating: "n", count: 253)))
        let received = try await receive(mailbox) { $0.opens = false }
        #expect(received.reports.map(\.path) == ["sealed.age"])
    }

    // MARK: Without a note

    @Test func whatOpensIsOpened() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("d/a.txt.age", try sealed("x").content)
        mailbox.deliver("empty.age", try sealed("x", []).content)
        mailbox.deliver("long.age", try sealed("x", Self.long).content)
        let received = try await receive(mailbox)
        #expect(received.reports.allSatisfy { $0.result == .committed && $0.state == .delivered })
        #expect(Files.tree(out) == ["d/a.txt", "empty", "long"] && names(in: out).count == 3)
        #expect(content("d/a.txt") == Self.text && content("empty") == [] && content("long") == Self.long)
        #expect(received.met.isEmpty)
    }

    @Test func whatDoesNotOpenIsStoredAsItIs() async throws {
        let mailbox = FakeMailbox()
        let carol = try Correspondent()
        let whole = try sealed("x", SplitMix64.bytes(seed: 1, 300_000)).content
        var changed = whole
        changed[250_000] ^= 1
        let contents: [String: [UInt8]] = [
            "others.age": try Parcel("x", [1], by: alice.key, for: [carol.sealing]).content,
            "cut.age": Array(whole.dropLast(50_000)), "changed.age": changed, "text.age": Self.text, "none.age": [],
            "version.age": Array("age-encryption.org/v1\n".utf8), "opened": whole, ".age": whole, "AGE": [1],
        ]
        for (name, content) in contents { mailbox.deliver(name, content) }
        let received = try await receive(mailbox) { $0.takesHiddenNames = true }
        #expect(received.reports.count == contents.count && received.reports.allSatisfy { $0.result == .committed })
        #expect(Files.tree(out) == contents.keys.sorted())
        for (name, content) in contents { #expect(self.content(name) == content, "\(name)") }
    }

    /// The name without its extension may be empty or reserved.
    @Test func namesWithoutTheirEndLeadNowhere() async throws {
        let mailbox = FakeMailbox()
        let mail = try sealed("x")
        let kept = [".transfer.age", ".transfer-parts.age", "...age", "..age", "d/...age", "d/.age"]
        for name in kept { mailbox.deliver(name, mail.content) }
        mailbox.deliver("a.age.age", mail.content)
        let received = try await receive(mailbox) { $0.takesHiddenNames = true }
        #expect(received.reports.allSatisfy { $0.result == .committed })
        #expect(Set(received.reports.compactMap(\.path)) == Set(kept + ["a.age"]))
        #expect(names(in: here.path).sorted() == ["out"])
    }

    @Test func itStaysAsItIsWithoutAKeyOrAWish() async throws {
        let mailbox = FakeMailbox()
        let mail = try sealed("x")
        mailbox.deliver("a.age", mail.content)
        _ = try await receive(mailbox) { $0.opens = false }
        mailbox.deliver("b.age", mail.content)
        _ = try await receive(mailbox) { _ in
        } configured: {
            $0.sealing = nil
        }
        #expect(Files.tree(out) == ["a.age", "b.age"] && content("b.age") == mail.content)
    }

    @Test func bothNamesCanBeTaken() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a.age", try sealed("x").content)
        mailbox.deliver("b.age", try sealed("x").content)
        mailbox.deliver("c.age", Self.text)
        for name in ["a", "a.age", "b.age", "c"] { try Files.write("\(out)/\(name)", [1]) }
        let received = try await receive(mailbox) { _ in
        } configured: {
            $0.conflict = .skip
        }
        #expect(received.results == ["a.age": .skipped, "b.age": .committed, "c.age": .committed])
        #expect(content("b") == Self.text && content("c.age") == Self.text && content("a") == [1])
    }

    // MARK: age(1)

    @Test(.enabled(if: AgeCommand.isThere)) func ageOpensWhatStaysSealed() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a", SplitMix64.bytes(seed: 6, 200_000)))
        _ = try await receive(mailbox) { $0.opens = false }
        try Files.write(here.path("key"), Array(try bob.sealing.text.utf8))
        #expect(AgeCommand.run("age -d -i key -o opened out/a.age", in: here))
        #expect(Files.read(here.path("opened")) == SplitMix64.bytes(seed: 6, 200_000))
    }

    @Test(.enabled(if: AgeCommand.isThere)) func whatAgeSealsIsOpened() async throws {
        let mailbox = FakeMailbox()
        let content = SplitMix64.bytes(seed: 7, 200_000)
        try Files.write(here.path("in"), content)
        #expect(AgeCommand.run("age -r \(bob.sealing.recipient.text) -o binary in", in: here))
        #expect(AgeCommand.run("age -a -r \(bob.sealing.recipient.text) -o text in", in: here))
        let text = try #require(Files.read(here.path("text")))
        mailbox.deliver("a.age", try #require(Files.read(here.path("binary"))))
        mailbox.deliver("b.age", text)
        _ = try await receive(mailbox)
        #expect(Files.tree(out) == ["a", "b.age"] && self.content("a") == content && self.content("b.age") == text)
    }

    // MARK: Reading

    private func read(_ mailbox: FakeMailbox, opens: Bool = true) async throws -> ([UInt8], TransferFailure?) {
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let delivery = try #require(await all(client.inbox()).events.first)
        let (parts, failure) = await all(client.read(delivery, opens: opens))
        var content: [UInt8] = []
        for case .content(let piece) in parts { content += piece }
        return (content, failure)
    }

    private static let long = SplitMix64.bytes(seed: 8, 5 << 20)

    @Test(arguments: [0, 1, 65_536, 5 << 20]) func itIsReadOpened(_ count: Int) async throws {
        let content = Array(Self.long.prefix(count))
        let mailbox = FakeMailbox(cuts: [0: 9 << 19])
        let mail = try sealed("a", content)
        mailbox.deliver(mail)
        let (read, failure) = try await read(mailbox)
        #expect(read == content && failure == nil)
        #expect(try await self.read(mailbox, opens: false).0 == mail.content)
        let other = FakeMailbox()
        other.deliver("a.age", mail.content)
        #expect(try await self.read(other).0 == content)
        #expect(try await self.read(other, opens: false).0 == mail.content)
    }

    /// The content before the change is delivered, but the end never is.
    @Test func whatWasChangedIsNotReadToItsEnd() async throws {
        let content = Self.long
        let mail = try sealed("a", content)
        for place in [100, 180, 200, 9 << 19, mail.content.count - 1] {
            let mailbox = FakeMailbox()
            var changed = mail
            changed.content[place] ^= 1
            mailbox.deliver(changed)
            let (read, failure) = try await read(mailbox)
            #expect(failure?.reason == .rejected(.unopened) && read.count < content.count)
            #expect(Array(content.prefix(read.count)) == read)
        }
        let mailbox = FakeMailbox()
        var other = mail
        other.note = try sealed("a", content).note
        mailbox.deliver(other)
        let (read, failure) = try await read(mailbox)
        #expect(failure?.reason == .rejected(.unopened) && read.isEmpty)
    }

    /// The content opens, but the sender has signed another digest.
    @Test func whatIsNotSignedIsNotReadToItsEnd() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try Parcel("a", Self.text, by: alice.key, for: [bob.sealing]) { $0.other = [1, 2] })
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let parts = await all(client.read(try #require(await all(client.inbox()).events.first)))
        #expect(parts.failure?.reason == .rejected(.unopened))
        #expect(!parts.events.contains { if case .end = $0 { true } else { false } })
    }

    @Test func whatIsNotSealedForThisClientIsReadAsItIs() async throws {
        let carol = try Correspondent()
        let mail = try Parcel("x", Self.long, by: alice.key, for: [carol.sealing])
        for content in [mail.content, Self.text, [], Array(try sealed("a").content.dropLast())] {
            let mailbox = FakeMailbox()
            mailbox.deliver("a.age", content)
            let (read, failure) = try await read(mailbox)
            #expect(read == content && failure == nil)
        }
        let mailbox = FakeMailbox()
        mailbox.deliver(mail)
        let (read, failure) = try await read(mailbox)
        #expect(read.isEmpty && failure?.reason == .rejected(.unopened))
    }

    @Test func whoHasSignedIsKnownWhenItIsRead() async throws {
        let people = KnownPeople(path: here.path("known_people"))
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        #expect(try await read(mailbox).0 == Self.text)
        #expect(try people.entries(of: "alice", on: nil).map(\.identity) == [KeyFingerprint(of: alice.key.key)])
        let (other, mallory) = (FakeMailbox(), try Correspondent())
        other.deliver(try Parcel("a", [1], by: mallory.key, for: [bob.sealing]))
        let (content, failure) = try await read(other)
        #expect(content.isEmpty && failure?.reason == .rejected(.wrongSigner) && other.fetches.isEmpty)
    }

    // MARK: Listed

    @Test func theInboxShowsWhatTheNoteSays() async throws {
        let mailbox = FakeMailbox()
        let mallory = try Correspondent()
        let people = KnownPeople(path: here.path("known_people"))
        mailbox.deliver(try sealed("a.txt"))
        mailbox.deliver(try Parcel("b", [1], by: mallory.key, for: [bob.sealing]), from: "carol")
        mailbox.deliver("plain", [1])
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let listed = await all(client.inbox()).events
        #expect(listed.map(\.shownName) == ["a.txt", "b", "plain"] && listed.map(\.shownSize) == [8, 1, 1])
        #expect(listed.map(\.isSealed) == [true, true, false] && listed[0].name == "sealed.age")
        // Listing a delivery must not record its sender's key.
        #expect(try people.entries().isEmpty)
        _ = try people.check(signer: alice.key.key, named: "carol", on: nil)
        let again = await all(client.inbox()).events
        #expect(again.map(\.shownName) == ["a.txt", "sealed.age", "plain"])
        #expect(again[1].noteFault?.contains("not a known key of carol") ?? false)
    }

    @Test func whatWasSentShowsItsName() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try Parcel("own", [1], by: bob.key, for: [alice.sealing, bob.sealing]), from: "alice")
        mailbox.deliver(try sealed("forged"), from: "alice")
        mailbox.deliver(try Parcel("other", [1], by: bob.key, for: [alice.sealing]), from: "alice")
        let server = mailbox.server
        defer { server.stop() }
        let client = try client(server)
        let sent = await all(client.sent()).events
        #expect(sent.map(\.shownName) == ["own", "sealed.age", "sealed.age"])
        #expect(sent.map { $0.noteFault == nil } == [true, false, false])
    }
}

/// The program age(1), as packaged by Debian.
private enum AgeCommand {
    static var isThere: Bool { (try? ChildLaunch.shell("command -v age >/dev/null 2>&1")) == 0 }

    static func run(_ command: String, in directory: TemporaryDirectory) -> Bool {
        (try? ChildLaunch.shell("cd '\(directory.path)' && \(command) >said 2>&1 </dev/null")) == 0
    }
}
