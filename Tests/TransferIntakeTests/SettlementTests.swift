import Testing
import TransferAccess
import TransferCatalog
import TransferKeys
import TransferLedger
import TransferMail
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferIntake

/// A store that keeps names, mail and records in one database commits a batch completely or not at all.
@Suite struct SettlementTests {
    private let directory: TemporaryDirectory
    private let store: TransactionalStore
    private let intake: Intake
    private let session: IntakeSession
    private let file = UploadIntent(id: .random(), path: "a", size: 1, conflict: .overwrite)
    private let mail = UploadIntent(id: .random(), path: "m", size: 1, recipients: ["bob"])

    init() throws {
        directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let ledger = try MailLedger(path: directory.path("mail"), isDurable: false)
        store = TransactionalStore(catalog, ledger)
        let people = ListedPeople(people: [MailPerson("bob")])
        intake = Intake(
            Intake.Configuration(maximumMultiparts: 4, filesAtOnce: 64, maximumUpload: 1 << 30, keepUnfinished: .max),
            store: store, records: catalog, signer: KeyPair(),
            mailroom: Mailroom(.success(ledger), people, MailLimits(bytes: 16 << 20))
        ) { _ in }
        let grant = Grant(.token("alice"), name: "alice", options: AccessOptions())
        let way = IntakeSession.Connection(number: 1) { work in work() }
        session = IntakeSession(intake, way, caller: Caller(grant, UploadScope(), peer: "test"))
        session.giveReceipts()
    }

    /// Sends uploads of one byte each.
    private func bring(_ intents: [UploadIntent]) throws {
        for intent in intents { #expect(try session.bring(intent, [7]) == nil) }
    }

    private func recorded(_ intent: UploadIntent) throws -> CatalogEntry? {
        try store.catalog.entries(for: [intent.id]).first ?? nil
    }

    @Test func aBatchIsCommittedWithItsMailAndItsRecords() throws {
        try bring([file, mail])
        #expect(session.publish().ended.isEmpty)
        // The transaction is committed before the client gets its results, and none stays open until then.
        #expect(store.commits == 1 && !store.isOpen && session.pipeline.isWaiting)
        #expect(!session.pipeline.canShareSignature)
        let entry = try #require(try recorded(file))
        #expect(try store.ledger.deliveries(of: mail.id).map(\.recipient) == ["bob"])
        let ended = session.acknowledge()
        #expect(ended.flatMap(\.uploads).map(\.outcome.code) == [.committed, .committed])
        let signed = try #require(ended.first?.signedBatch)
        #expect(entry.receipt.map { signed.number..<signed.number + UInt64(signed.count) ~= $0 } == true)
        #expect(!session.pipeline.isWaiting && session.acknowledge().isEmpty)
        #expect(intake.known.entry(for: file.id) != nil)
    }

    @Test func nothingIsStoredOfABatchThatCannotBeCommitted() throws {
        store.isFailing = true
        try bring([file, mail])
        #expect(session.publish().ended.isEmpty)
        #expect(!store.isOpen && store.mailFiles().isEmpty)
        #expect(try !store.store.exists(RelativePath("a")))
        #expect(try recorded(file) == nil)
        #expect(intake.known.entry(for: file.id) == nil)
        #expect(try store.ledger.deliveries(of: mail.id).isEmpty)
        let ended = session.acknowledge()
        #expect(ended.flatMap(\.uploads).map(\.outcome.code) == [.storageFailed, .storageFailed])
        #expect(ended.allSatisfy { $0.signedBatch == nil })
        store.isFailing = false
        try bring([file, mail])
        #expect(session.publish().ended.isEmpty)
        #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed, .committed])
        #expect(try store.store.exists(RelativePath("a")))
        #expect(store.mailFiles().count == 1)
    }

    /// Uploads of different publications get receipts of different batches, since the first publication is committed
    /// before the second.
    @Test func eachPublicationIsATransaction() throws {
        let other = UploadIntent(id: .random(), path: "b", size: 1, conflict: .overwrite)
        for intent in [file, other] {
            try bring([intent])
            #expect(session.publish().ended.isEmpty)
        }
        #expect(store.commits == 2)
        let ended = session.acknowledge()
        #expect(ended.map { $0.uploads.map(\.upload.intent.id) } == [[file.id], [other.id]])
        #expect(Set(ended.map(\.signedBatch?.number)).count == 2)
    }

    @Test func whatIsCommittedIsKnownWhenTheConnectionIsLost() throws {
        try bring([file])
        _ = session.publish()
        session.leave()
        #expect(try recorded(file) != nil)
        #expect(store.commits == 1)
        let outcome = session.begin(file, mayEnd: true).outcome
        #expect(outcome?.code == .committed)
    }

    @Test(arguments: [false, true]) func aCopyIsCommittedWithItsRecord(isFailing: Bool) throws {
        store.isFailing = isFailing
        let content = try store.stage(id: .random(), size: 1, filled: nil, permissions: nil, quota: nil)
        try ([7] as [UInt8]).withUnsafeBytes { try content.write($0, at: 0) }
        let path = try RelativePath("c")
        let copy = Publication(
            staged: content, id: .random(), path: path, size: 1, digest: IntakeFixture.digest([7]), conflict: .overwrite
        )
        let stored = Result { () throws(Failure) in
            try intake.publish(copy: copy, .file, for: session.caller, begun: 0)
        }
        switch stored {
        case .success(let stored): #expect(!isFailing && stored?.path == path)
        case .failure(let failure): #expect(isFailing && failure.code == .storageFailed)
        }
        #expect(store.store.exists(path) != isFailing)
        #expect(try (store.catalog.entries(for: [copy.id])[0] == nil) == isFailing)
        #expect(!store.isOpen)
    }

    /// The rest of the batch is stored, and the content of the refused mail is removed.
    @Test func mailThatTheTransactionDoesNotTakeLeavesNoContent() throws {
        store.refusesMail = true
        try bring([file, mail])
        #expect(session.publish().ended.isEmpty)
        #expect(session.acknowledge().flatMap(\.uploads).map(\.outcome.code) == [.committed, .storageFailed])
        #expect(try recorded(file) != nil)
        #expect(store.mailFiles().isEmpty)
    }
}
