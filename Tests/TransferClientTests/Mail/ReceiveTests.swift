import CLinux
import Glibc
import Testing
import TransferKeys
import TransferModel
import TransferProtocol
import TransferReceipts
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct ReceiveTests {
    private let here: TemporaryDirectory

    init() throws {
        here = try TemporaryDirectory()
    }

    private var out: String { here.path("out") }

    private func content(_ path: String) -> [UInt8]? { Files.read("\(out)/\(path)") }

    @Test func whatWaitsIsStoredAndSettled() async throws {
        let mailbox = FakeMailbox()
        let ids = [
            mailbox.deliver("photo.png", [1, 2, 3]),
            mailbox.deliver("holiday/a.txt", Array("text".utf8), from: "carol"),
            mailbox.deliver("empty", []),
        ]
        let received = try await Received(from: mailbox, to: out)
        #expect(received.failure == nil && received.found.map(\.id) == ids)
        #expect(received.results == ["photo.png": .committed, "holiday/a.txt": .committed, "empty": .committed])
        #expect(received.reports.allSatisfy { $0.state == .delivered })
        #expect(Files.tree(out) == ["empty", "holiday/a.txt", "photo.png"])
        #expect(content("photo.png") == [1, 2, 3] && content("holiday/a.txt") == Array("text".utf8))
        #expect(mailbox.states == [.delivered, .delivered, .delivered])
        #expect(mailbox.settles.flatMap(\.deliveries).count == 3)
        // No temporary files are left.
        #expect(names(in: out).sorted() == ["empty", "holiday", "photo.png"])
    }

    /// The second delivery stays in the mailbox: it must not replace the first one of the same run.
    @Test func twoDeliveriesOfOneName() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1])
        mailbox.deliver("a", [2])
        let received = try await Received(from: mailbox, to: out) { $0.conflict = .overwrite }
        #expect(received.reports.map(\.result).sorted { $0.rawValue < $1.rawValue } == [.committed, .pathConflict])
        #expect(mailbox.states.count { $0 == .delivered } == 1)
        #expect(Files.tree(out) == ["a"])
    }

    /// If a server lists one ID twice, the client must not sign for the second delivery, which may be a contract,
    /// because it has received the first.
    @Test(arguments: [false, true]) func twoDeliveriesOfOneID(isFirstSmaller: Bool) async throws {
        let mailbox = FakeMailbox()
        let (cat, contract) = ([UInt8](repeating: 1, count: 3), [UInt8](repeating: 2, count: 3_000))
        let id = mailbox.deliver("cat", isFirstSmaller ? cat : contract)
        mailbox.deliver("contract", isFirstSmaller ? contract : cat, id: id)
        let received = try await Received(from: mailbox, to: out)
        #expect(received.failure?.reason == .protocolFault && received.found.map(\.name) == ["cat"])
        #expect(Files.tree(out) == ["cat"])
        // The received delivery is settled once, under its name.
        #expect(received.results == ["cat": .committed] && mailbox.settles.flatMap(\.deliveries) == [id])
    }

    /// The client signs only a digest that it has computed. A digest function that does not fit the size never matches.
    @Test func aDigestThatTheContentCannotHave() async throws {
        let mailbox = FakeMailbox()
        let content = [UInt8](repeating: 1, count: 3)
        let plain = FakeMailbox.digest([UInt8](repeating: 2, count: 3))
        mailbox.deliver("contract", content, digest: Digest(plain.algorithm.function.tree, plain.bytes))
        let received = try await Received(from: mailbox, to: out)
        #expect(received.results == ["contract": .contentLost])
        #expect(mailbox.settles.isEmpty && Files.tree(out).isEmpty)
    }

    /// Long content in parts is checked, too.
    @Test func aDigestThatLongContentCannotHave() async throws {
        let mailbox = FakeMailbox()
        let content = SplitMix64.bytes(seed: 9, 24 << 20)
        let other = FakeMailbox.digest([1])
        mailbox.deliver("contract", content, digest: Digest(other.algorithm.function.plain, other.bytes))
        let received = try await Received(from: mailbox, to: out) { $0.lanes = .fixed(2) }
        #expect(received.results == ["contract": .contentLost])
        #expect(mailbox.settles.isEmpty && Files.tree(out).isEmpty)
    }

    /// A signature names the content by its digest. A digest function with collisions would let a server present other
    /// content.
    @Test(arguments: DigestFunction.allCases) func onlyADigestThatHoldsIsSignedFor(_ function: DigestFunction)
        async throws
    {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1, 2, 3], function: function)
        let received = try await Received(from: mailbox, to: out) { $0.key = KeyPair() }
        #expect(received.results == ["a": .committed] && mailbox.states == [.delivered])
        #expect(mailbox.settles.map { $0.signature != nil } == [function == .sha256])
    }

    /// A server may list any number of deliveries. Those that fit into memory are received, and the failure is
    /// reported.
    @Test func deliveriesWithoutEnd() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [UInt8(number % 251)]) }
        var options = ReceiveOptions()
        options.keeps = true
        let received = try await Received(from: mailbox, to: out, options) { $0.listMemory = 10_000 }
        #expect(received.failure?.reason == .rejected(.incomplete))
        #expect((1..<400).contains(received.found.count) && received.reports.count == received.found.count)
        #expect(received.reports.allSatisfy { $0.result == .committed })
    }

    /// The client asks for the list page by page; each page waits until the previous one is received and settled.
    @Test func moreThanIsHeldAtOnceIsReceivedPageByPage() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [UInt8(number % 251)]) }
        let received = try await Received(from: mailbox, to: out) { $0.listMemory = 100_000 }
        #expect(received.failure == nil && received.reports.count == 400)
        #expect(received.reports.allSatisfy { $0.result == .committed } && Set(mailbox.states) == [.delivered])
        let pages = mailbox.lists.map(\.after)
        #expect(pages.count > 1 && pages == Set(pages).sorted())
    }

    /// Deliveries that are left on the server are not listed again, so the client never reaches those behind them.
    @Test func moreThanIsHeldAndLeftIsToldAsIncomplete() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [UInt8(number % 251)]) }
        var options = ReceiveOptions()
        options.choose = { _ in .leave }
        let received = try await Received(from: mailbox, to: out, options) { $0.listMemory = 10_000 }
        #expect(received.failure?.reason == .rejected(.incomplete) && received.found.count < 400)
        #expect(Set(mailbox.states) == [.queued])
    }

    /// The client holds only the IDs of deliveries that it ignores, so a wanted delivery may be far behind them.
    @Test func othersMailDoesNotHideWhatIsWanted() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [1], from: "mallory") }
        mailbox.deliver("wanted", [2])
        var options = ReceiveOptions()
        options.senders = ["alice"]
        let received = try await Received(from: mailbox, to: out, options) { $0.listMemory = 30_000 }
        #expect(received.failure == nil && received.results == ["wanted": .committed])
    }

    /// Deliveries that fail stay on the server, whichever connection fetched them, and the list goes on behind them.
    @Test func failedDeliveriesDoNotHideWhatIsBehindThem() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<400 { mailbox.deliver("f\(number)", [1], listed: [2]) }
        mailbox.deliver("wanted", [3])
        let received = try await Received(from: mailbox, to: out) {
            $0.listMemory = 100_000
            $0.retries = 0
        }
        #expect(received.failure == nil && received.reports.count == 401)
        #expect(received.results["wanted"] == .committed && mailbox.lists.count > 1)
    }

    /// The client asks for the rest of a list even if all listed deliveries were settled before the list ended.
    @Test func aPageThatWasSettledBeforeItsListEndedIsNotTheLast() {
        var state = ReceivePlan.State()
        state.budget = ListBudget(1000)
        #expect(state.budget.holds(900) && !state.budget.holds(200))
        state.listing = .overdrawn(held: 900)
        state.budget.release(900)
        state.listed(nil)
        state.goOnListing()
        #expect(state.listing == .wanted && state.failure == nil)
    }

    /// Records of stored files stay, so these files are not fetched again.
    @Test func aListThatFailsForgetsNothing() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1])
        var options = ReceiveOptions()
        options.keeps = true
        _ = try await Received(from: mailbox, to: out, options)
        mailbox.endLists(with: .storageFailed)
        let failed = try await Received(from: mailbox, to: out)
        #expect(failed.failure?.reason == .rejected(.storageFailed))
        mailbox.endLists(with: .completed)
        let received = try await Received(from: mailbox, to: out)
        #expect(received.results == ["a": .alreadyStored] && mailbox.fetches.count == 1)
    }

    @Test func anEmptyMailboxIsNoFailure() async throws {
        let received = try await Received(from: FakeMailbox(), to: out)
        #expect(received.failure == nil && received.reports.isEmpty)
    }

    /// When the client settles a delivery, the file already has its name.
    @Test func itIsHereBeforeTheServerIsTold() async throws {
        let seen = Locked<[Bool]>([])
        let path = out
        let mailbox = FakeMailbox { _, settle in
            let isHere = settle.deliveries.allSatisfy { Files.read("\(path)/f\($0.low)") == [UInt8($0.low)] }
            seen.withLock { $0.append(isHere) }
            return .usual
        }
        for number in stride(from: 1, to: 99, by: 2) as StrideTo<UInt8> { mailbox.deliver("f\(number)", [number]) }
        let received = try await Received(from: mailbox, to: out)
        #expect(received.reports.count == 49 && !seen.withLock { $0 }.contains(false))
    }

    @Test func thereAreNoMoreInOneSettlementThanTheWireTakes() async throws {
        let mailbox = FakeMailbox()
        for number in 0..<600 { mailbox.deliver("f\(number)", [1, UInt8(number % 251)]) }
        let received = try await Received(from: mailbox, to: out)
        #expect(received.reports.count == 600 && Set(mailbox.states) == [.delivered])
        #expect(mailbox.settles.allSatisfy { $0.deliveries.count <= 256 })
    }

    // MARK: Interruptions

    @Test func aLostAnswerIsAskedForAgain() async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver("a", [1])
        let received = try await Received(from: mailbox, to: out)
        #expect(received.reconnects == 1 && received.states == ["a": .delivered])
        #expect(mailbox.fetches.count == 1 && mailbox.settles.count == 2)
        var again = mailbox.settles[1]
        again.id = mailbox.settles[0].id
        #expect(again == mailbox.settles[0])
    }

    /// Stands for a kill -9: the next run settles the stored file without fetching it.
    @Test func anotherProcessTellsWhatIsHere() async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver("a", [1])
        let first = try await Received(from: mailbox, to: out) { $0.retryFor = 0 }
        #expect(first.failure?.reason == .unreachable && first.reports.isEmpty && content("a") == [1])
        #expect(names(in: "\(out)/.transfer-parts").count == 1)
        let second = try await Received(from: mailbox, to: out)
        #expect(second.results == ["a": .alreadyStored] && second.states == ["a": .delivered])
        #expect(mailbox.fetches.count == 1 && names(in: out) == ["a"])
    }

    @Test func whatWasChangedIsFetchedAgain() async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver("a", [1])
        _ = try await Received(from: mailbox, to: out) { $0.retryFor = 0 }
        try Files.write("\(out)/a", [2, 2])
        let second = try await Received(from: mailbox, to: out)
        #expect(second.results == ["a": .committed] && mailbox.fetches.count == 2)
        #expect(content("a") == [2, 2] && content("a-1") == [1])
    }

    @Test(arguments: [true, false]) func withoutNotesItIsFetchedAndFound(areDamaged: Bool) async throws {
        let mailbox = FakeMailbox { number, _ in number == 0 ? .lost : .usual }
        mailbox.deliver("a", [1])
        _ = try await Received(from: mailbox, to: out) { $0.retryFor = 0 }
        for name in names(in: "\(out)/.transfer-parts") {
            let path = "\(out)/.transfer-parts/\(name)"
            if areDamaged { try Files.write(path, Array("{\"id\":1}\n\u{0}{".utf8)) } else { unlink(path) }
        }
        let second = try await Received(from: mailbox, to: out)
        #expect(second.results == ["a": .alreadyStored] && second.states == ["a": .delivered])
        #expect(mailbox.fetches.count == 2 && Files.tree(out).filter { !$0.hasPrefix(".") } == ["a"])
    }

    /// A kept delivery stays on the server, and is not fetched again when it is settled.
    @Test func whatIsKeptWaits() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1])
        var options = ReceiveOptions()
        options.keeps = true
        for _ in 0..<2 {
            let kept = try await Received(from: mailbox, to: out, options)
            #expect(kept.reports.count == 1 && kept.states == ["a": .queued] && mailbox.settles.isEmpty)
        }
        let received = try await Received(from: mailbox, to: out)
        #expect(received.states == ["a": .delivered] && mailbox.fetches.count == 1)
        #expect(names(in: out) == ["a"])
    }

    // MARK: Long deliveries

    private static let long = (0..<9 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 12) }

    @Test func aLongOneGoesOnWhereItWas() async throws {
        let mailbox = FakeMailbox(cuts: [0: 5 << 20])
        mailbox.deliver("long", Self.long)
        let received = try await Received(from: mailbox, to: out)
        #expect(received.results == ["long": .committed] && content("long") == Self.long)
        #expect(mailbox.fetches.map(\.offset) == [0, 4 << 20])
        #expect(received.reports.first?.resumed == 4 << 20 && names(in: out) == ["long"])
    }

    @Test func anotherProcessGoesOnToo() async throws {
        let mailbox = FakeMailbox(cuts: [0: 5 << 20])
        mailbox.deliver("long", Self.long, function: .sha256)
        _ = try await Received(from: mailbox, to: out) { $0.retryFor = 0 }
        let received = try await Received(from: mailbox, to: out)
        #expect(received.results == ["long": .committed] && content("long") == Self.long)
        // The client first asks for the version of the file on the server.
        #expect(mailbox.fetches.map(\.offset) == [0, 0, 4 << 20])
        #expect(mailbox.fetches.allSatisfy { $0.digest == .sha256 })
    }

    @Test func aVeryLongOneComesInParts() async throws {
        let content = Self.long + Self.long + Self.long + Self.long
        let mailbox = FakeMailbox()
        mailbox.deliver("long", content)
        let received = try await Received(from: mailbox, to: out) { $0.lanes = .fixed(2) }
        #expect(received.results == ["long": .committed] && self.content("long") == content)
        #expect(mailbox.fetches.contains { $0.length != nil })
    }

    // MARK: Other senders

    @Test func namesLeadNowhere() async throws {
        let names = ["../up", "/etc/x", "a/../../up", "", ".transfer-parts/x", ".transfer/x", "x\0y", "a//b"]
        let mailbox = FakeMailbox()
        for name in names { mailbox.deliver(name, [1]) }
        mailbox.deliver("good", [2])
        var options = ReceiveOptions()
        options.takesHiddenNames = true
        let received = try await Received(from: mailbox, to: out, options)
        #expect(received.results["good"] == .committed && Files.tree(here.path) == ["out/good"])
        #expect(received.reports.filter { $0.result == .invalidPath }.count == names.count)
        #expect(mailbox.states == names.map { _ in .queued } + [.delivered])
    }

    @Test func linksLeadNowhere() async throws {
        try Files.makeDirectory(out)
        try Files.makeDirectory(here.path("elsewhere"))
        #expect(symlink(here.path("elsewhere"), "\(out)/d") == 0)
        #expect(symlink(here.path("elsewhere/f"), "\(out)/f") == 0)
        let mailbox = FakeMailbox()
        mailbox.deliver("d/x", [1])
        mailbox.deliver("f", [1])
        let received = try await Received(from: mailbox, to: out)
        #expect(received.results["d/x"]?.isSuccess == false)
        #expect(names(in: here.path("elsewhere")) == [])
    }

    @Test func hiddenNamesAreShown() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver(".bashrc", [1])
        mailbox.deliver("a/.ssh/.x", [1])
        let received = try await Received(from: mailbox, to: out)
        #expect(received.reports.map(\.path) == ["_bashrc", "a/_ssh/_x"])
        var options = ReceiveOptions()
        options.takesHiddenNames = true
        mailbox.deliver(".profile", [1])
        #expect(try await Received(from: mailbox, to: out, options).reports.map(\.path) == [".profile"])
    }

    /// Execute permission is off by default, so that a received program does not run by mistake.
    @Test(arguments: [false, true]) func itCanBeRunWhereThatIsAskedFor(takesExecution: Bool) async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("tool", [1])
        var options = ReceiveOptions()
        options.takesExecution = takesExecution
        #expect(try await Received(from: mailbox, to: out, options).results == ["tool": .committed])
        #expect((access("\(out)/tool", X_OK) == 0) == takesExecution)
    }

    @Test func whatTheServerSendsHasToBeWhatWasListed() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("other", [1, 2, 3], listed: [1, 2, 4])
        mailbox.deliver("longer", [1, 2, 3], listed: [1, 2])
        mailbox.deliver("good", [1, 2, 3])
        let received = try await Received(from: mailbox, to: out) { $0.retries = 1 }
        #expect(received.results == ["other": .contentLost, "longer": .fileChanged, "good": .committed])
        #expect(Files.tree(out) == ["good"] && mailbox.states == [.queued, .queued, .delivered])
    }

    /// Names are compared by their bytes.
    @Test func sendersAreChosen() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1], from: "jos\u{E9}")
        mailbox.deliver("b", [1], from: "jose\u{301}")
        mailbox.deliver("c", [1], from: "mallory")
        var options = ReceiveOptions()
        options.senders = ["jos\u{E9}", "mallory"]
        let received = try await Received(from: mailbox, to: out, options)
        #expect(received.found.map(\.name) == ["a", "c"] && mailbox.states == [.delivered, .queued, .delivered])
    }

    @Test func eachIsChosenAbout() async throws {
        let mailbox = FakeMailbox()
        for name in ["take", "as", "leave", "decline", "also"] { mailbox.deliver(name, [1]) }
        var options = ReceiveOptions()
        options.choose = { delivery in
            switch delivery.name {
            case "as": .takeAs("renamed")
            case "leave": .leave
            case "decline": .decline
            default: .take
            }
        }
        let received = try await Received(from: mailbox, to: out, options)
        #expect(Files.tree(out) == ["also", "renamed", "take"])
        #expect(mailbox.states == [.delivered, .delivered, .queued, .declined, .delivered])
        #expect(received.states["decline"] == .declined && received.results["decline"] == .completed)
        #expect(received.results["leave"] == nil)
    }

    // MARK: Refused settlements

    /// A delivery that the server no longer knows does not prevent the settlement of others.
    @Test func oneThatIsGoneKeepsNoOthers() async throws {
        let mailbox = FakeMailbox { _, settle in
            settle.deliveries.contains { $0.low == 5 } ? .answer(.notFound) : .usual
        }
        for number in 0..<5 { mailbox.deliver("f\(number)", [UInt8(number)]) }
        let received = try await Received(from: mailbox, to: out)
        #expect(mailbox.states == [.delivered, .delivered, .queued, .delivered, .delivered])
        let report = try #require(received.reports.first { $0.delivery.name == "f2" })
        #expect(report.result == .notFound && report.path == "f2" && report.state == .queued)
        #expect(Files.read("\(out)/f2") == [2])
    }

    @Test func settlementsAreSigned() async throws {
        let mailbox = FakeMailbox()
        mailbox.deliver("a", [1])
        let key = try KeyPair(secret: #require(Bytes32([UInt8](repeating: 3, count: 32))))
        _ = try await Received(from: mailbox, to: out) { $0.key = key }
        let settle = try #require(mailbox.settles.first)
        let listed = mailbox.mails[0].listed
        let receipt = try DeliveryReceipt(
            delivery: listed.id, to: "bob", from: "alice", name: RelativePath("a"), kind: .file, size: 1,
            digest: listed.digest, time: ReceiptTime(clamping: UInt64(settle.time)), recipient: key.key,
            server: ServerKey(Bytes32()))
        let signature = try #require(settle.signature)
        #expect(DeliveryBatch.lines([receipt], signature: signature)?.count == 1)
    }

    /// A server that knows the client by a token may refuse its key; the client then settles without a signature.
    @Test func aSignatureThatIsNotTakenIsLeftOut() async throws {
        let mailbox = FakeMailbox { _, settle in settle.signature == nil ? .usual : .answer(.forbidden) }
        mailbox.deliver("a", [1])
        let key = try KeyPair(secret: #require(Bytes32([UInt8](repeating: 3, count: 32))))
        let received = try await Received(from: mailbox, to: out) { $0.key = key }
        #expect(received.states == ["a": .delivered] && mailbox.settles.map { $0.signature == nil } == [false, true])
    }
}
