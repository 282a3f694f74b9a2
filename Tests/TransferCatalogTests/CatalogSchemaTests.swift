import TransferDatabase
import CSQLite
import Testing
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCatalog

@Suite struct CatalogSchemaTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    /// Makes a file of the first version, with one upload.
    private func makeFirstVersion(_ id: UploadID) throws {
        fixture.write([])
        let database = try fixture.database()
        try CatalogSchema.schema.migrate(database, to: 1)
        #expect(try database.execute("PRAGMA user_version") == 1)
        try database.execute(
            """
            INSERT INTO uploads (id, state, durable, kind, size, begun, committed, algorithm, digest, inode, changed, path,
                sender)
            VALUES (x'\(id)', 1, 1, 2, 5, 10, 20, 1, x'000102030405060708090a0b0c0d0e0f', 3, 4, 'a', 'b')
            """)
    }

    @Test func anOlderVersionIsBroughtToTodays() throws {
        let id = UploadID.random()
        try makeFirstVersion(id)
        let catalog = fixture.openDatabase()
        let old = CatalogEntry(
            id: id, state: .committed, path: "a", kind: .picture, size: 5, digest: Digest(.xxh128, Array(0..<16)),
            isDurable: true, sender: "b", begun: 10, committed: 20)
        #expect(try catalog.entry(for: id) == old)
        try catalog.record([.sample(7, id: id)])
        #expect(try catalog.entry(for: id) == .sample(7, id: id))
        #expect(try fixture.database().execute("PRAGMA user_version") == CatalogSchema.schema.version)
        #expect(fixture.damages.isEmpty)
    }

    /// Version 9 is the last that identified files by inode and times, and kept unfinished uploads among the others.
    @Test func anUnfinishedUploadOfAnOlderVersionIsOneOfTodays() throws {
        let (stored, begun) = (UploadID.random(), UploadID.random())
        fixture.write([])
        let database = try fixture.database()
        try CatalogSchema.schema.migrate(database, to: 9)
        try database.execute(
            """
            INSERT INTO uploads (id, state, durable, kind, size, begun, committed, inode, changed, modified, path, sender)
            VALUES (x'\(stored)', 1, 1, 0, 5, 10, 20, 3, 4, 6, 'a', 'b')
            """)
        try database.execute(
            """
            INSERT INTO uploads (id, state, durable, kind, size, begun, path, sender, client, run)
            VALUES (x'\(begun)', 0, 0, 2, 7, 30, 'c', 'd', -1, 8)
            """)
        try database.execute("INSERT INTO rotten VALUES ('r', 1, 2, 3, 4, 1, x'000102030405060708090a0b0c0d0e0f')")
        let catalog = fixture.openDatabase()
        #expect(
            try catalog.entry(for: stored)?.version == ContentVersion(object: 3, revision: 6, touch: 4, size: 5))
        let rotten = try catalog.rotten(ContentVersion(object: 1, revision: 3, touch: 9, size: 4))
        #expect(rotten?.digest.bytes == Array(0..<16))
        #expect(try catalog.entry(for: begun) == nil)
        #expect(try catalog.count() == 1)
        let unfinished = UnfinishedUpload(
            id: begun, path: "c", size: 7, kind: .picture, sender: "d", client: .max, begun: 30, run: 8)
        #expect(try catalog.unfinished() == [unfinished])
        #expect(fixture.damages.isEmpty)
    }

    @Test func aMigrationThatFailsLeavesTheOldVersion() throws {
        try makeFirstVersion(.random())
        let calls = FailingCalls()
        for number in 0... {
            let database = try Database(path: fixture.path, called: Catalog.name, calls: calls.calls)
            calls.fail(number, as: SQLITE_FULL)
            guard let error = migrationError(database) else { break }
            #expect(error.reason == .full)
            #expect(try fixture.database().execute("PRAGMA user_version") == 1, "call \(number)")
        }
        #expect(calls.count > 5)
        #expect(try fixture.database().execute("PRAGMA user_version") == CatalogSchema.schema.version)
        #expect(try fixture.openDatabase().count() == 1)
    }

    private func migrationError(_ database: Database) -> RecordsError? {
        do throws(RecordsError) {
            try CatalogSchema.schema.migrate(database)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [CatalogSchema.schema.version + 1, 1000] as [Int64])
    func unknownVersionsAreRefusedInPlainWords(
        _ version: Int64
    ) throws {
        try fixture.openDatabase().record([.sample(1)])
        try fixture.database().execute("PRAGMA user_version = \(version)")
        let file = CatalogFile(path: fixture.path, isDurable: true, calls: DatabaseCalls())
        let error = #expect(throws: RecordsError.self) { _ = try file.openWriter(validates: true) }
        #expect(error?.reason == .unknownVersion)
        #expect(error?.message.contains("version \(version)") ?? false)
        #expect(error?.message.contains("\(CatalogSchema.schema.version)") ?? false)
    }

    /// A reader does not migrate the file, and its error names the program that does.
    @Test(arguments: [0, 1] as [Int64]) func whoReadsSaysWhatIsMissing(_ version: Int64) throws {
        fixture.write([])
        let database = try fixture.database()
        try CatalogSchema.schema.migrate(database, to: version)
        let error = #expect(throws: RecordsError.self) { try CatalogSchema.schema.requireCurrent(database) }
        #expect(error?.reason == .unavailable)
        #expect(error?.message.contains(version == 0 ? "is empty" : "older program") ?? false)
        #expect(error?.message.contains("next start of a server") ?? false)
    }
}
