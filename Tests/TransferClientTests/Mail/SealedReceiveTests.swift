import CLinux
import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSealing
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct SealedReceiveTests: SealedReceiving {
    let here: TemporaryDirectory
    let alice: Correspondent
    let bob: Correspondent

    init() throws {
        (here, alice, bob) = (try TemporaryDirectory(), try Correspondent(), try Correspondent())
    }

    // MARK: Opened

    @Test func itIsOpenedUnderItsName() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(
            try sealed("photos/a.png") { details in
                details.kind = .picture
                details.modified = Timestamp(seconds: 1_000_000, nanoseconds: 5)
                details.permissions = 0o750
            })
        let received = try await receive(mailbox)
        #expect(received.failure == nil && content("photos/a.png") == Self.text)
        let report = try #require(received.reports.first)
        #expect(report.result == .committed && report.state == .delivered && report.path == "photos/a.png")
        #expect(report.size == 8 && report.delivery.shownName == "photos/a.png")
        #expect(report.delivery.shownKind == .picture && report.delivery.isSealed)
        var status = stat()
        #expect(stat("\(out)/photos/a.png", &status) == 0)
        #expect(status.st_mtim.tv_sec == 1_000_000 && status.st_mtim.tv_nsec == 5 && status.st_mode & 0o777 == 0o640)
        #expect(mailbox.states == [.delivered] && names(in: out) == ["photos"])
    }

    /// The receipt names the sealed content, which the server knows.
    @Test func theReceiptIsForWhatTravelled() async throws {
        let mailbox = FakeMailbox()
        let mail = try sealed("a")
        mailbox.deliver(mail)
        _ = try await receive(mailbox)
        let (settle, listed) = (try #require(mailbox.settles.first), mailbox.mails[0].listed)
        let receipt = try DeliveryReceipt(
            delivery: listed.id, to: "bob", from: "alice", name: RelativePath("sealed.age"), kind: .file,
            size: UInt64(mail.content.count), digest: listed.digest, time: ReceiptTime(clamping: UInt64(settle.time)),
            recipient: bob.key.key, server: ServerKey(Bytes32()))
        #expect(DeliveryBatch.lines([receipt], signature: try #require(settle.signature))?.count == 1)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 3 << 20]) func everyLengthIsOpened(_ count: Int) async throws {
        let mailbox = FakeMailbox()
        let content = SplitMix64.bytes(seed: 1, count)
        mailbox.deliver(try sealed("a", content))
        let received = try await receive(mailbox)
        #expect(received.results.values.allSatisfy { $0 == .committed })
        #expect(self.content("a") == content)
        #expect(received.reports.allSatisfy { $0.size == UInt64(count) })
    }

    @Test func aLongOneGoesOnWhereItWas() async throws {
        let mailbox = FakeMailbox(cuts: [0: 5 << 20])
        mailbox.deliver(try sealed("long", Self.long))
        _ = try await receive(mailbox) { _ in
        } configured: {
            $0.retryFor = 0
        }
        #expect(names(in: out) == [".transfer-parts"])
        let received = try await receive(mailbox)
        #expect(received.results.values.map(\.self) == [.committed] && content("long") == Self.long)
        #expect(received.reports.first?.resumed == 4 << 20 && names(in: out) == ["long"])
    }

    @Test func aVeryLongOneComesInParts() async throws {
        let content = Self.long + Self.long + Self.long + Self.long
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("long", content))
        let received = try await receive(mailbox) { _ in
        } configured: {
            $0.lanes = .fixed(2)
        }
        #expect(received.reports.map(\.result) == [.committed] && self.content("long") == content)
        #expect(mailbox.fetches.contains { $0.length != nil } && names(in: out) == ["long"])
    }

    @Test func thoseOfOneNameAreTwoFiles() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a", [1]))
        mailbox.deliver(try sealed("a", [2]))
        mailbox.deliver(try sealed("a", [1]))
        let received = try await receive(mailbox)
        #expect(Files.tree(out) == ["a", "a-1"] && Set([content("a"), content("a-1")]) == [[1], [2]])
        #expect(received.reports.count { $0.result == .alreadyStored } == 1)
        #expect(mailbox.states == [.delivered, .delivered, .delivered])
    }

    @Test func itIsStoredUnderTheNameThatIsChosen() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        let seen = Locked("")
        let received = try await receive(mailbox) { options in
            options.choose = { delivery in
                seen.withLock { $0 = "\(delivery.shownName) \(delivery.shownSize) \(delivery.isSealed)" }
                return .takeAs("b")
            }
        }
        #expect(seen.withLock { $0 } == "a 8 true" && content("b") == Self.text && received.reports.count == 1)
    }

    // MARK: Stored once

    /// Stands for a kill -9 after opening and before publishing: the sealed content is complete and not fetched again.
    @Test func whatWasFetchedIsNotFetchedAgain() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("long", Self.long))
        try Files.write("\(out)/long", [1])
        let first = try await receive(mailbox) { _ in
        } configured: {
            $0.conflict = .fail
        }
        #expect(first.reports.map(\.result) == [.pathConflict] && content("long") == [1])
        #expect(Files.tree(out).count == 2 && names(in: "\(out)/.transfer-parts").count == 1)
        unlink("\(out)/long")
        let second = try await receive(mailbox)
        #expect(second.reports.map(\.result) == [.committed] && content("long") == Self.long)
        #expect(second.reports.first?.resumed == 8 << 20 && names(in: out) == ["long"])
    }

    /// Stands for a kill -9 after publishing, with and without a record of the stored file.
    @Test(arguments: [true, false]) func whatIsHereIsNotStoredTwice(isNoted: Bool) async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver(try sealed("a"))
        let first = try await receive(mailbox) { _ in
        } configured: {
            $0.retryFor = 0
        }
        #expect(first.failure?.reason == .unreachable && content("a") == Self.text)
        if !isNoted {
            for name in names(in: "\(out)/.transfer-parts") { unlink("\(out)/.transfer-parts/\(name)") }
        }
        let second = try await receive(mailbox)
        #expect(second.reports.map(\.result) == [.alreadyStored] && mailbox.states == [.delivered])
        #expect(second.reports.first?.size == 8 && mailbox.fetches.count == (isNoted ? 1 : 2))
        #expect(Files.tree(out) == ["a"])
    }

    @Test func whatIsKeptIsNotFetchedAgain() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        for _ in 0..<2 { #expect(try await receive(mailbox) { $0.keeps = true }.states == ["sealed.age": .queued]) }
        #expect(try await receive(mailbox).states == ["sealed.age": .delivered] && mailbox.fetches.count == 1)
        #expect(names(in: out) == ["a"])
    }

    // MARK: Signers

    @Test func whatItsSenderHasSignedIsSaidToBe() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(try sealed("a"))
        mailbox.deliver("plain", [1])
        #expect(try await receive(mailbox).seals == ["a": .signed, "plain": nil])
    }

    /// A server may omit the note and name any sender. Everyone who knows a public key can seal for its owner.
    @Test func whatNobodyHasSignedIsSaidToBeUnsigned() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("sealed.age", try sealed("a").content)
        #expect(try await receive(mailbox).seals == ["sealed.age": .unsigned])
        #expect(content("sealed") == Self.text)
    }

    /// The content was not opened, so its signature was not compared.
    @Test func whatIsNotOpenedIsSaidToBeUnopened() async throws {
        let mailbox = FakeMailbox()
        var mail = try sealed("a", [1, 2, 3])
        mail.content = try sealed("a", [4, 5, 6]).content
        mailbox.deliver(mail)
        let received = try await receive(mailbox) { $0.opens = false }
        #expect(received.seals == ["a": .unopened] && Files.tree(out) == ["a.age"])
    }

    /// The server first lists a file, which may be forged, without a note, and later with a genuine one. The stored
    /// file was not compared with a note before.
    @Test(arguments: [true, false]) func aNoteThatComesLaterIsComparedWithWhatIsHere(isForged: Bool) async throws {
        let mail = try sealed("a")
        let other = isForged ? try sealed("a", [4, 5, 6]) : mail
        let mailbox = FakeMailbox()
        let id = mailbox.deliver("sealed.age", mail.content)
        #expect(try await receive(mailbox) { $0.keeps = true }.seals == ["sealed.age": .unsigned])
        let later = FakeMailbox()
        later.deliver("sealed.age", mail.content, note: other.note, id: id)
        let received = try await receive(later) { $0.keeps = true }
        #expect(received.seals == (isForged ? [:] : ["a": .signed]))
        #expect(received.reports.map(\.result) == [isForged ? .unopened : .committed] && later.fetches.count == 1)
        // After this comparison the client knows that the file matches its note.
        guard !isForged else { return }
        #expect(try await receive(later).seals == ["a": .signed] && later.fetches.count == 1)
        #expect(later.states == [.delivered] && Files.tree(out) == ["a", "sealed"])
    }

    /// A receipt names the size that the client counted, not the size that the server lists when the receipt is signed.
    @Test func anotherSizeThanBeforeIsFetchedAnew() async throws {
        let mail = try sealed("a")
        let mailbox = FakeMailbox()
        let id = mailbox.deliver("sealed.age", mail.content, note: mail.note)
        #expect(try await receive(mailbox) { $0.keeps = true }.seals == ["a": .signed])
        let later = FakeMailbox()
        later.deliver(
            "sealed.age", mail.content, listed: mail.content + [0], note: mail.note, id: id,
            digest: FakeMailbox.digest(mail.content, .sha256))
        let received = try await receive(later)
        #expect(received.reports.map(\.result) == [.fileChanged])
        #expect(later.settles.isEmpty)
    }

    // MARK: A full disk

    @Test func aFullDiskLeavesNothing() async throws {
        guard let small = SmallFileSystem(here.path("small")) else { return }
        let mailbox = FakeMailbox()
        let content = SplitMix64.bytes(seed: 5, 700_000)
        mailbox.deliver(try sealed("a", content))
        mailbox.deliver(try sealed("b", content))
        mailbox.deliver(try sealed("c"))
        let received = try await receive(mailbox, to: small.path)
        let results = received.reports.map { "\($0.delivery.shownName) \($0.result)" }
        #expect(results.sorted() == ["a targetFailed", "b targetFailed", "c committed"])
        #expect(names(in: small.path) == ["c"] && mailbox.states == [.queued, .queued, .delivered])
    }

    /// The disk has room for the sealed content, but not for the opened content beside it.
    @Test func aFullDiskKeepsWhatWasFetched() async throws {
        guard let small = SmallFileSystem(here.path("small"), size: "8m") else { return }
        let mailbox = FakeMailbox()
        let mail = try sealed("long", Array(Self.long.prefix(5 << 20)))
        mailbox.deliver(mail)
        let first = try await receive(mailbox, to: small.path)
        #expect(first.reports.map(\.result) == [.targetFailed] && mailbox.states == [.queued])
        #expect(names(in: small.path) == [".transfer-parts"])
        let second = try await receive(mailbox, to: small.path) { $0.opens = false }
        #expect(second.reports.map(\.result) == [.committed] && second.reports.first?.resumed == 4 << 20)
        #expect(names(in: small.path) == ["long.age"] && Files.read("\(small.path)/long.age") == mail.content)
    }
}
