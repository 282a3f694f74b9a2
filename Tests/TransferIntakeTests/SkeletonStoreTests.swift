import Testing
import TransferAccess
import TransferCatalog
import TransferCodec
import TransferLedger
import TransferMail
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferIntake

/// docs/design/ports.md says enough to write a store, and a store with few abilities promises nothing that it cannot
/// do.
@Suite struct SkeletonStoreTests {
    private let directory: TemporaryDirectory
    private let store = SkeletonStore()
    private let intake: Intake
    private let content = SplitMix64.bytes(seed: 3, Limits.blockSize + 5)

    init() throws {
        directory = try TemporaryDirectory()
        let ledger = try MailLedger(path: directory.path("mail"), isDurable: false)
        let people = ListedPeople(people: [MailPerson("bob")])
        intake = Intake(
            Intake.Configuration(maximumMultiparts: 4, filesAtOnce: 64, maximumUpload: 1 << 30, keepUnfinished: .max),
            store: store, records: Catalog(path: directory.path("catalog"), isDurable: false) { _ in }, signer: nil,
            mailroom: Mailroom(.success(ledger), people, MailLimits(bytes: 16 << 20))
        ) { _ in }
    }

    private func session() -> IntakeSession {
        IntakeSession(
            intake, IntakeSession.Connection(number: 1) { work in work() }, caller: Caller(peer: "test"))
    }

    private func intent(
        _ path: String, _ extent: UploadIntent.Extent = .whole, _ conflict: ConflictPolicy = .overwrite
    ) -> UploadIntent {
        UploadIntent(id: .random(), path: path, size: UInt64(content.count), conflict: conflict, extent: extent)
    }

    /// The failure that a client receives for a refused upload.
    private func refusal(_ outcome: UploadOutcome) -> Failure? {
        if case .refused(let failure, _) = outcome { failure } else { nil }
    }

    private func read(_ path: String) throws -> [UInt8] {
        let file = try store.reader().open(try RelativePath(path))
        var bytes = [UInt8](repeating: 0, count: Int(file.attributes.size))
        let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
        #expect(count == bytes.count && file.isUnchanged)
        return bytes
    }

    @Test func whatIsUploadedIsListedReadReplacedAndRemoved() throws {
        let session = session()
        #expect(session.send(intent("d/a"), content).code == .committed)
        #expect(session.send(intent("d/a"), content).code == .alreadyStored)
        #expect(try read("d/a") == content)
        let other = [UInt8](repeating: 7, count: content.count)
        #expect(session.send(intent("d/a"), other).code == .committed)
        #expect(try read("d/a") == other)
        #expect(session.send(intent("d"), content).code == .pathConflict)
        #expect(session.send(intent("d/a/b"), content).code == .pathConflict)
        #expect(try store.list(nil).next(9).map(\.path.string) == ["d"])
        #expect(try store.list(RelativePath("d")).nextWhole(9).map(\.path.string) == ["d/a"])
        let removals = StoredRemovals(intake, store)
        var gone: UInt64 = 0
        let removal = try removals.begin(RelativePath("d/a"), isRecursive: false)
        let isOver = try removals.goOn(removal, gone: &gone)
        try removals.commit()
        #expect(isOver && gone == 1)
        #expect(throws: Failure.self) { try read("d/a") }
    }

    /// Each mail has a place that no other upload has, so a store that always replaces can store mail.
    @Test func whatIsForSomebodyIsStored() throws {
        let grant = Grant(.token("alice"), name: "alice", options: AccessOptions())
        let way = IntakeSession.Connection(number: 1) { work in work() }
        let session = IntakeSession(intake, way, caller: Caller(grant, UploadScope(), peer: "test"))
        let intent = UploadIntent(
            id: .random(), path: "a", size: UInt64(content.count), recipients: ["bob"])
        #expect(session.send(intent, content).code == .committed)
        #expect(store.mailFiles().map { store.version(at: $0)?.size } == [UInt64(content.count)])
    }

    @Test func whatItCannotStoreIsRefusedWithASentence() throws {
        let session = session()
        let append = UploadAppend(at: 0, total: nil, ending: .here, isNew: true)
        let part = UploadPart(of: .random(), offset: 0, total: UInt64(content.count))
        let refused =
            [
                intent("a", .part(part)), intent("a", .multipart), intent("a", .append(append)),
                intent("a", .whole, .keepBoth), intent("a", .whole, .skip), intent("a", .whole, .fail),
            ].map { refusal(session.send($0, content)) }
        #expect(refused.allSatisfy { $0?.code == .forbidden && $0?.message.hasPrefix("The server's store") == true })
        #expect(!intake.takesPieces && intake.multiparts.isEmpty)
        #expect(try session.unfinishedAppend(.random()) == nil)
        #expect(try !session.takeBack(append: .random()))
        #expect(throws: Failure.self) { try read("a") }
    }

    @Test func whatItCannotChangeIsRefusedWithASentence() throws {
        #expect(session().send(intent("a"), content).code == .committed)
        let (a, b) = (try RelativePath("a"), try RelativePath("b"))
        let attributes = TreeChange.Attributes(permissions: 0o600, modified: nil, extra: nil)
        let changes: [TreeChange] = [
            .folder(b, replaces: false, nil), .link(b, to: [97], replaces: false, nil),
            .hardLink(b, to: a, replaces: false, nil), .set(a, attributes), .move(a, to: b, replaces: false),
            .discard(a, isRecursive: false),
        ]
        #expect(Set(changes.map(\.kind)) == Set(TreeChange.Kind.allCases))
        let sentence = "The server's store changes no names and no attributes of"
        for result in TreeChanges(intake, store).perform(changes) {
            guard case .failure(let failure) = result else {
                Issue.record("a change was made")
                continue
            }
            #expect(failure.code == .forbidden && failure.message.hasPrefix(sentence))
        }
        #expect(try store.list(nil).next(9).map(\.path) == [a])
        #expect(try read("a") == content)
    }
}
