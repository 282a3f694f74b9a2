import Testing
import TransferDatabase
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// Which records are forgotten with a removed file, and which are not.
@Suite(.overEachKindOfRecords) struct ForgottenTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    @Test func whatHasJustArrivedGoesWithItsPath() throws {
        let catalog = fixture.open()
        let (gone, stays) = (CatalogEntry.sample(1), CatalogEntry.sample(2))
        try catalog.record([gone, stays])
        try catalog.forget([gone.path])
        #expect(try catalog.entry(for: gone.id) == nil)
        try catalog.index()
        #expect(try catalog.entry(for: gone.id) == nil)
        #expect(try catalog.entry(for: stays.id) == stays)
    }

    /// If no file has the path, rows without a version go as well.
    @Test(arguments: [nil, 7] as [UInt64?]) func whatIsThereNowAndWhatCameLaterStays(object: UInt64?) throws {
        let catalog = fixture.open()
        let moment: Int64 = 1_000
        let entries = ([(1, nil), (2, 5), (3, 7), (4, 5)] as [(Int, UInt64?)]).map { number, object in
            var entry = CatalogEntry.sample(number)
            entry.path = "a"
            entry.version = object.map { ContentVersion(object: $0, revision: 1, touch: 1, size: 1) }
            entry.committed = number < 4 ? moment : moment + 1
            return entry
        }
        try catalog.record(entries)
        var changes = KnownChanges()
        changes.replaced = [KnownChanges.Replaced("a", by: object, at: moment)]
        try catalog.complete(.none, changes)
        let left = Set(try catalog.entries(at: ["a"])[0].map(\.id))
        #expect(left == Set(entries[(object == nil ? 3 : 2)...].map(\.id)))
    }

    /// The parts of the upload still exist, and a client may resume it.
    @Test func anUnfinishedUploadOutlivesTheFileAtItsPath() throws {
        let catalog = fixture.open()
        let unfinished = UnfinishedUpload(id: .random(), path: "a", size: 5, begun: 1)
        try catalog.recordUnfinished([unfinished])
        try catalog.forget(["a"])
        #expect(try catalog.unfinished() == [unfinished])
    }

    @Test func whatIsNotSettledIsSaidToBeSo() throws {
        let catalog = fixture.open()
        #expect(!catalog.hasUnindexed)
        try catalog.record([.sample(1)])
        #expect(catalog.hasUnindexed)
        try catalog.index()
        #expect(!catalog.hasUnindexed)
    }

    /// The index lacks the IDs of some rows; a reader of other pages would not notice that.
    @Test(.databaseOnly) func damageThatNobodyMeetsIsFoundAtTheStart() throws {
        let catalog = fixture.open()
        try catalog.record([.sample(1), .sample(2)])
        try catalog.close()
        do {
            let database = try fixture.database()
            let root = try #require(
                try database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'uploads_by_id'"))
            try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            let page = try #require(try database.execute("PRAGMA page_size"))
            // The number of cells of an index page (sqlite.org/fileformat2.html, section 1.6).
            fixture.write([0, 0], at: Int((root - 1) * page) + 3, truncating: false)
        }
        #expect(fixture.open().wasEmpty)
        #expect(fixture.damages.map(\.error.reason) == [.damaged])
    }
}
