import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferSealing
import TransferTestSupport

@testable import TransferClient

/// Sealed deliveries that are not stored, and the reasons.
@Suite struct SealedRefusalTests: SealedReceiving {
    let here: TemporaryDirectory
    let alice: Correspondent
    let bob: Correspondent

    init() throws {
        (here, alice, bob) = (try TemporaryDirectory(), try Correspondent(), try Correspondent())
    }

    // MARK: Not opened

    @Test func withoutAKeyItWaits() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        let received = try await receive(mailbox) { _ in
        } configured: {
            $0.sealing = nil
        }
        #expect(received.results == ["sealed.age": .unopened] && mailbox.states == [.queued])
        #expect(mailbox.fetches.isEmpty && Files.tree(out) == [])
    }

    @Test func aNoteForOthersIsNoNote() async throws {
        let (mailbox, carol) = (FakeMailbox(), try Correspondent())
        mailbox.deliver(
            try Parcel("a", [1], by: alice.key, for: [bob.sealing, carol.sealing], noteFor: [carol.sealing]))
        #expect(try await expectWaiting(mailbox, .unopened).contains("sealed for other recipients"))
        #expect(mailbox.fetches.isEmpty)
    }

    @Test(arguments: [0, 30, 150, 200, 400]) func aNoteThatWasChangedIsNone(_ place: Int) async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a")
        mail.note[place] ^= 1
        mailbox.deliver(mail)
        #expect(try await !expectWaiting(mailbox, .unopened).isEmpty)
    }

    @Test(arguments: [0, 1, 100]) func aNoteThatIsCutOffIsNone(_ count: Int) async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a")
        mail.note = Array(mail.note.prefix(count))
        mailbox.deliver(mail)
        _ = try await expectWaiting(mailbox, .unopened)
    }

    @Test func contentForOthersIsNotOpened() async throws {
        let (mailbox, carol) = (FakeMailbox(), try Correspondent())
        mailbox.deliver(try Parcel("a", [1], by: alice.key, for: [carol.sealing], noteFor: [bob.sealing]))
        #expect(try await expectWaiting(mailbox, .unopened).contains("sealed for other recipients"))
    }

    /// The server attaches the note of one file to another.
    @Test func aNoteIsAboutOneContent() async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a", [1, 2, 3])
        mail.note = try sealed("a", [4, 5, 6]).note
        mailbox.deliver(mail)
        #expect(try await expectWaiting(mailbox, .unopened).contains("does not match its sender's note"))
    }

    /// A recipient has the file key and can seal other content of the same size behind the same header; the server can
    /// forward that.
    @Test(arguments: [3, 70_000, 5 << 20]) func aNoteIsAboutNoOtherContentOfThatSize(_ size: Int) async throws {
        let mailbox = FakeMailbox()
        let content = SplitMix64.bytes(seed: 6, size)
        mailbox.deliver(try sealed("a", content) { $0.other = [content[0] ^ 1] + content.dropFirst() })
        #expect(try await expectWaiting(mailbox, .unopened).contains("does not match its sender's note"))
    }

    /// Notes of version 1 do not name the digest of the content.
    @Test func aNoteOfAnEarlierVersionIsNone() async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a")
        var fields: [UInt8] = [1, ContentKind.file.rawValue, 0] + [UInt8](repeating: 0, count: 22)
        fields += mail.tag.digest.bytes + alice.key.key.raw.bytes
        fields.append(bigEndian: UInt16(1))
        fields.append(UInt8(ascii: "a"))
        let signed = fields + alice.key.sign(Array("transfer sealed note v1\n".utf8) + fields)
        let sealer = try Sealer(streamFor: [bob.sealing.recipient])
        mail.note = []
        try sealer.seal((signed + [UInt8](repeating: 0, count: 512 - signed.count)).span.bytes, into: &mail.note)
        try sealer.finish(into: &mail.note)
        mailbox.deliver(mail)
        #expect(try await expectWaiting(mailbox, .unopened).contains("A note of an earlier version of Transfer"))
    }

    @Test(arguments: [0, 7, 9, 1 << 62, .max] as [UInt64]) func theSizeIsTheOneOfTheNote(_ size: UInt64) async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a") { $0.size = size })
        _ = try await expectWaiting(mailbox, .unopened)
    }

    /// The server's digest matches the changed content; only the seal reveals the change.
    @Test(arguments: [5, 100, 180, 200, 70_000, 200_000]) func contentThatWasChangedIsNotStored(_ place: Int)
        async throws
    {
        let mailbox = FakeMailbox()
        var mail = try sealed("a", SplitMix64.bytes(seed: 3, 200_000))
        mail.content[place] ^= 1
        mailbox.deliver(mail)
        _ = try await expectWaiting(mailbox, .unopened)
    }

    /// The content is cut in the header, at the end of a chunk and within a chunk, or has bytes behind its end.
    @Test func contentThatIsCutOffIsNotStored() async throws {
        let whole = try sealed("a", SplitMix64.bytes(seed: 4, 3 * 65_536))
        let front = 184 + 65_552
        for count in [10, 184, front, front + 100, whole.content.count - 1] {
            let mailbox = FakeMailbox()
            var mail = whole
            mail.content = Array(mail.content.prefix(count))
            mailbox.deliver(mail)
            _ = try await expectWaiting(mailbox, .unopened)
        }
        let mailbox = FakeMailbox()
        var mail = whole
        mail.content += [0]
        mailbox.deliver(mail)
        _ = try await expectWaiting(mailbox, .unopened)
    }

    /// A long file that does not open leaves no fetched content behind.
    @Test func ofALongOneThatDoesNotOpenNothingStays() async throws {
        for lanes in [1, 2] {
            let mailbox = FakeMailbox()
            var mail = try sealed("a", Self.long + Self.long + Self.long + Self.long)
            mail.content[20 << 20] ^= 1
            mailbox.deliver(mail)
            let received = try await receive(mailbox) { _ in
            } configured: {
                $0.lanes = .fixed(lanes)
            }
            #expect(received.reports.map(\.result) == [.unopened] && mailbox.states == [.queued])
            #expect(names(in: out) == [])
        }
    }

    @Test func oneThatDoesNotOpenKeepsNoOthers() async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("b")
        mail.content[180] ^= 1
        mailbox.deliver(try sealed("a"))
        mailbox.deliver(mail)
        mailbox.deliver(try sealed("c"))
        mailbox.deliver("d", [1])
        let received = try await receive(mailbox)
        #expect(Files.tree(out) == ["a", "c", "d"] && received.reports.count == 4)
        #expect(mailbox.states == [.delivered, .queued, .delivered, .delivered])
    }

    // MARK: Signers

    @Test func theFirstKeyIsKnownFromThenOn() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        mailbox.deliver(try sealed("b"))
        let first = try await receive(mailbox)
        #expect(first.met == ["alice \(KeyFingerprint(of: alice.key.key))"])
        #expect(try people.entries(of: "alice", on: nil).map(\.identity) == [KeyFingerprint(of: alice.key.key)])
        mailbox.deliver(try sealed("c"))
        let second = try await receive(mailbox)
        #expect(second.met.isEmpty && second.reports.map(\.result) == [.committed])
    }

    @Test func anotherKeyIsRefused() async throws {
        let (mailbox, mallory) = (FakeMailbox(), try Correspondent())
        _ = try people.check(signer: alice.key.key, named: "alice", on: nil)
        mailbox.deliver(try Parcel("a", [1], by: mallory.key, for: [bob.sealing]))
        let message = try await expectWaiting(mailbox, .wrongSigner)
        #expect(message.contains("\(KeyFingerprint(of: mallory.key.key))") && message.contains("--trust alice"))
        #expect(mailbox.fetches.isEmpty)
        mailbox.deliver(try sealed("b"))
        #expect(try await receive(mailbox).results.count == 1)
        #expect(content("b") == Self.text && mailbox.states == [.queued, .delivered])
    }

    /// The signer is known, but under another name.
    @Test func aKeyIsOnePersons() async throws {
        let mailbox = FakeMailbox()
        let carol = try Correspondent()
        _ = try people.check(signer: carol.key.key, named: "carol", on: nil)
        mailbox.deliver(try sealed("a"), from: "carol")
        _ = try await expectWaiting(mailbox, .wrongSigner)
    }

    /// A delivery that was not opened does not make its sender known.
    @Test func whoseNoteIsNoGoodIsNotKnown() async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a")
        mail.note[200] ^= 1
        mailbox.deliver(mail)
        _ = try await expectWaiting(mailbox, .unopened)
        #expect(try people.entries().isEmpty)
    }

    @Test func aListOfPeopleThatIsNoneRefusesAll() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        try Files.write(people.path, "nonsense in here\n")
        #expect(try await expectWaiting(mailbox, .unopened).contains("known people"))
    }

    // MARK: Names

    @Test(arguments: ["../up", "/etc/x", "a/../../up", "", ".transfer-parts/x", ".transfer/x", "x\0y", "a//b"])
    func namesLeadNowhere(_ name: String) async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a")
        try mail.rename(to: name, Self.text, by: alice.key, for: [bob.sealing])
        mailbox.deliver(mail)
        let received = try await receive(mailbox) { $0.takesHiddenNames = true }
        #expect(received.reports.map(\.result) == [.unopened] && mailbox.states == [.queued])
        #expect(Files.tree(here.path) == [])
    }

    @Test func linksLeadNowhere() async throws {
        try Files.makeDirectory(out)
        try Files.makeDirectory(here.path("elsewhere"))
        #expect(symlink(here.path("elsewhere"), "\(out)/d") == 0)
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("d/x"))
        #expect(try await receive(mailbox).reports.first?.result.isSuccess == false)
        #expect(names(in: here.path("elsewhere")) == [])
    }

    /// A name may contain any bytes; programs escape it when they show it.
    @Test func oddNamesAreKept() async throws {
        let name = "a\u{1B}[31m\n\u{202E}b"
        let mailbox = FakeMailbox()
        var mail = try sealed("x")
        try mail.rename(to: name, Self.text, by: alice.key, for: [bob.sealing])
        mailbox.deliver(mail)
        let received = try await receive(mailbox)
        #expect(received.reports.map(\.path) == [name] && content(name) == Self.text)
    }

    @Test func hiddenNamesAreShown() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed(".bashrc"))
        mailbox.deliver(try sealed("a/.ssh/x"))
        #expect(try await receive(mailbox).reports.map(\.path) == ["_bashrc", "a/_ssh/x"])
    }
}
