import Synchronization
import Testing
import TransferDatabase
import TransferMemoryStore
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferCatalog
@testable import TransferIntake

/// Changes in a store that keeps names and records in one transaction.
@Suite struct RecordedChangesTests {
    /// Database whose commits fail while `fails` is set.
    private final class Database: Sendable {
        let fails = Atomic(false)

        var calls: DatabaseCalls {
            DatabaseCalls(failure: { call in self.fails.load(ordering: .relaxed) && call == .commit ? 10 : 0 })
        }
    }

    /// Paths of the files stored at first. Each file has its name as content.
    private static let stored = ["a", "b", "c", "d", "k/x"]

    private let directory: TemporaryDirectory
    private let database = Database()
    private let medium = MemoryMedium()
    private let store: MemoryStore
    private let intake: Intake

    init() throws {
        directory = try TemporaryDirectory()
        let file = CatalogFile(path: directory.path("catalog"), isDurable: false, calls: database.calls)
        let catalog = Catalog(CatalogConnections(file, retryInterval: 0) { _ in })
        store = try MemoryStore(medium, recordingChangesIn: catalog)
        intake = Intake(
            Intake.Configuration(maximumMultiparts: 8, filesAtOnce: 100, maximumUpload: 1 << 40, keepUnfinished: .max),
            store: store, records: catalog, signer: nil
        ) { _ in }
        let session = IntakeSession(
            intake, IntakeSession.Connection(number: 1) { work in work() }, caller: Caller(peer: "test"))
        for name in Self.stored {
            _ = try session.bring(UploadIntent(id: .random(), path: name, size: nil), Array(name.utf8))
        }
        for outcome in session.outcomes() { #expect(outcome.code == .committed) }
        session.leave()
        intake.known.index()
    }

    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func perform(_ changes: [TreeChange]) -> [Result<TreeChange.Done, Failure>] {
        TreeChanges(intake, store, keepsReplaced: true) { _ in TreeChangesTests.batch }.perform(changes)
    }

    private func changes() throws -> [TreeChange] {
        let attributes = TreeChange.Attributes(
            permissions: 0o600, modified: Timestamp(seconds: 1_000, nanoseconds: 5), extra: nil)
        return [
            .move(try path("a"), to: try path("m/a"), replaces: false), .set(try path("b"), attributes),
            .discard(try path("c"), isRecursive: false), .move(try path("k"), to: try path("z"), replaces: false),
            .hardLink(try path("h"), to: try path("d"), replaces: false, nil),
        ]
    }

    /// Requires that the records list exactly the stored files, with their versions.
    private func requireKnown() throws {
        intake.known.index()
        var known: [String: ContentVersion] = [:]
        try intake.known.records.forEachEntry { known[$0.path] = $0.version }
        let trash = RelativePath.trash(TreeChangesTests.batch, try path("c"))
        let paths = medium.paths() + [trash.string]
        var there: [String: ContentVersion] = [:]
        for path in paths { there[path] = RelativePath(stored: path).flatMap(store.version) }
        #expect(known == there)
        #expect(try intake.known.records.intended().isEmpty)
    }

    @Test func allOfItIsMadeAndKnown() throws {
        for result in perform(try changes()) { #expect(throws: Never.self) { try result.get() } }
        for name in ["m/a", "b", "z/x", "h", "d"] { #expect(store.exists(try path(name)), "\(name)") }
        try requireKnown()
        let course = intake.known.recentChanges.course(of: try path("a"), since: 0)
        #expect(try course?.place == path("m/a"))
    }

    /// If the catalog fails, the changes are undone and can be made again.
    @Test func whatCannotBeRecordedIsNotMade() throws {
        let before = medium.paths()
        database.fails.store(true, ordering: .relaxed)
        for result in perform(try changes()) {
            let error = #expect(throws: Failure.self) { try result.get() }
            #expect(error?.code == .storageFailed && error?.message.hasPrefix("The changes were not made") == true)
        }
        #expect(medium.paths() == before)
        #expect(try intake.known.recentChanges.course(of: path("a"), since: 0) == nil)
        database.fails.store(false, ordering: .relaxed)
        try requireKnown()
        for result in perform(try changes()) { #expect(throws: Never.self) { try result.get() } }
        try requireKnown()
    }

    private func remove(_ text: String) throws -> UInt64 {
        let removals = StoredRemovals(intake, store)
        var files: UInt64 = 0
        let removal = try removals.begin(path(text), isRecursive: true)
        while try !removals.goOn(removal, gone: &files) {}
        try removals.commit()
        return files
    }

    private func requireRecords(_ names: [String]) throws {
        intake.known.index()
        var known: [String] = []
        try intake.known.records.forEachEntry { known.append($0.path) }
        #expect(known.sorted() == names)
        #expect(try Self.stored.filter { store.exists(try path($0)) } == names)
    }

    @Test func aRemovalTakesRecordsAlong() throws {
        #expect(try remove("a") == 1)
        #expect(try remove("k") == 1)
        try requireRecords(["b", "c", "d"])
    }

    /// If the catalog fails, the removal leaves the content and its record, and can be repeated.
    @Test(arguments: ["a", "k"]) func aRemovalThatCannotBeRecorded(_ name: String) throws {
        database.fails.store(true, ordering: .relaxed)
        let error = #expect(throws: Failure.self) { try remove(name) }
        #expect(error?.code == .storageFailed)
        database.fails.store(false, ordering: .relaxed)
        try requireRecords(Self.stored)
        #expect(try remove(name) == 1)
        try requireRecords(Self.stored.filter { !$0.hasPrefix(name) })
    }

    /// A refused change changes nothing, and the other changes of the batch are made.
    @Test func aChangeThatIsRefused() throws {
        let taken = TreeChange.move(try path("d"), to: try path("b"), replaces: false)
        let results = perform([taken] + (try changes().prefix(1)))
        #expect(throws: Failure.self) { try results[0].get() }
        #expect(throws: Never.self) { try results[1].get() }
        for name in ["m/a", "b", "d"] { #expect(store.exists(try path(name)), "\(name)") }
        try requireKnown()
    }
}
