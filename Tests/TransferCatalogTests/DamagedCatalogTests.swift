import TransferDatabase
import CSQLite
import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferCatalog

/// An unusable file is moved aside, never deleted, and a new catalog is begun.
@Suite struct DamagedCatalogTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    private func read(_ path: String) -> [UInt8] {
        let number = open(path, O_RDONLY)
        defer { close(number) }
        var bytes = [UInt8](repeating: 0, count: 16 << 20)
        let count = Glibc.read(number, &bytes, bytes.count)
        return Array(bytes.prefix(max(0, count)))
    }

    private func checkReplaced(_ catalog: Catalog, _ reason: RecordsError.Reason) throws {
        let entry = CatalogEntry.sample(1)
        try catalog.record([entry])
        #expect(try catalog.entry(for: entry.id) == entry)
        #expect(try catalog.count() == 1)
        #expect(fixture.damages.map(\.error.reason) == [reason])
        let moved = try #require(fixture.damages.first?.movedTo)
        #expect(moved.hasPrefix(fixture.path + ".damaged-20"))
        #expect(moved.hasSuffix("Z"))
        #expect(access(moved, F_OK) == 0)
    }

    @Test func aFileThatIsNoDatabase() throws {
        let content = [UInt8](repeating: 0x41, count: 9000)
        fixture.write(content)
        try checkReplaced(fixture.openDatabase(), .damaged)
        #expect(read(try #require(fixture.damages.first?.movedTo)) == content)
    }

    /// Only the newer program can read the file: it stays where it is, and no upload is recorded.
    @Test func aNewerProgramsStays() throws {
        let uploads = [CatalogEntry.sample(1), .sample(2)]
        try fixture.openDatabase().fill(uploads)
        try fixture.database().execute("PRAGMA user_version = 99")
        let catalog = fixture.openDatabase()
        #expect(!catalog.wasEmpty && catalog.fault?.reason == .unknownVersion)
        #expect(throws: RecordsError.self) { try catalog.record([.sample(3)]) }
        #expect(fixture.damages.isEmpty)
        try fixture.database().execute("PRAGMA user_version = \(CatalogSchema.schema.version)")
        #expect(try fixture.openDatabase().count() == 2)
    }

    @Test func aVersionThatNoProgramWrites() throws {
        try fixture.openDatabase().fill([.sample(1), .sample(2)])
        try fixture.database().execute("PRAGMA user_version = -1")
        try checkReplaced(fixture.openDatabase(), .damaged)
        let moved = try Database(
            path: try #require(fixture.damages.first?.movedTo), called: Catalog.name, calls: DatabaseCalls())
        #expect(try moved.execute("SELECT count(*) FROM uploads") == 2)
    }

    @Test func tablesThatAreMissing() throws {
        try fixture.openDatabase().fill([.sample(1)])
        try fixture.database().execute("ALTER TABLE uploads RENAME TO others")
        try checkReplaced(fixture.openDatabase(), .damaged)
    }

    @Test func pagesThatAreSpoilt() throws {
        try fixture.openDatabase().fill((0..<2000).map { .sample($0) })
        fixture.write([UInt8](repeating: 0xEE, count: fixture.size() - 8192), at: 8192, truncating: false)
        try checkReplaced(fixture.openDatabase(), .damaged)
    }

    @Test func anEmptyFileIsANewCatalog() throws {
        fixture.write([])
        let catalog = fixture.openDatabase()
        try catalog.record([.sample(1)])
        #expect(try catalog.count() == 1)
        #expect(fixture.damages.isEmpty)
    }

    /// The damage is found in use, not when the file was opened, by the first call that reads or writes.
    @Test(arguments: [true, false]) func damageIsMetInUse(byReading: Bool) throws {
        let calls = FailingCalls()
        let catalog = fixture.openDatabase(calls.calls)
        let old = CatalogEntry.sample(5)
        try catalog.fill([old])
        #expect(try catalog.entry(for: old.id) == old)
        calls.fail(0, as: byReading ? SQLITE_CORRUPT : SQLITE_NOTADB)
        if byReading { #expect(try catalog.entry(for: old.id) == nil) } else { try catalog.record([.sample(6)]) }
        #expect(fixture.damages.map(\.error.reason) == [.damaged])
        let count = try catalog.count()
        #expect(count == (byReading ? 0 : 1))
        try catalog.record([.sample(7)])
        #expect(try catalog.count() == count + 1)
        let moved = try Database(
            path: try #require(fixture.damages.first?.movedTo), called: Catalog.name, calls: DatabaseCalls())
        #expect(try moved.execute("SELECT count(*) FROM uploads") == 1)
    }

    @Test func twoInOneSecondHaveNamesOfTheirOwn() throws {
        for _ in 0..<3 {
            fixture.write([1, 2, 3])
            try fixture.openDatabase().record([.sample(1)])
        }
        #expect(Set(fixture.damages.compactMap(\.movedTo)).count == 3)
    }

    /// The server continues without a catalog and tries again to open it.
    @Test func aFileThatCannotBeOpenedIsTriedAgain() throws {
        mkdir(fixture.path, 0o700)
        let catalog = fixture.openDatabase()
        #expect(!catalog.wasEmpty)
        #expect(throws: RecordsError.self) { try catalog.record([.sample(1)]) }
        #expect(throws: RecordsError.self) { try catalog.count() }
        rmdir(fixture.path)
        try catalog.record([.sample(1)])
        #expect(try catalog.count() == 1)
        #expect(fixture.damages.isEmpty)
    }
}

extension Catalog {
    /// Records the entries and moves them to the table of uploads.
    fileprivate func fill(_ entries: [CatalogEntry]) throws {
        try record(entries)
        try index()
    }
}
