import TransferDatabase
import Glibc
import Testing
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferCatalog

@Suite(.overEachKindOfRecords) struct CatalogTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    private func all(_ catalog: any UploadRecords) throws -> [CatalogEntry] {
        var entries: [CatalogEntry] = []
        let unreadable = try catalog.forEachEntry { entries.append($0) }
        #expect(unreadable == 0)
        return entries
    }

    @Test func keepsWhatItIsToldAcrossRestarts() throws {
        var bare = CatalogEntry(
            id: .random(), state: .alreadyStored, path: "x", size: UInt64(Int64.max), begun: -1, committed: -1)
        bare.digest = Digest(.sha256Tree, Array(0..<32))
        let entries = [.sample(0), .sample(1), bare]
        do {
            let catalog = fixture.open()
            #expect(catalog.wasEmpty)
            try catalog.record(Array(entries.prefix(2)))
            try catalog.record([bare])
            for entry in entries { #expect(try catalog.entry(for: entry.id) == entry) }
        }
        let again = fixture.open()
        #expect(!again.wasEmpty)
        for entry in entries { #expect(try again.entry(for: entry.id) == entry) }
        #expect(try again.entry(for: .random()) == nil)
        #expect(try all(again) == entries)
        #expect(try again.count() == 3)
        #expect(fixture.damages.isEmpty)
    }

    @Test(.databaseOnly) func onlyTheServersUserMayReadIt() throws {
        let catalog = fixture.open()
        try catalog.record([.sample(1)])
        for name in fixture.names {
            var status = stat()
            #expect(stat(fixture.directory.path(name), &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
        #expect(fixture.names.contains("catalog.sqlite-wal"))
    }

    @Test func theSameIdAgainReplacesItsEntry() throws {
        let catalog = fixture.open()
        let id = UploadID.random()
        try catalog.record([.sample(1, id: id), .sample(2, id: id)])
        #expect(try all(catalog) == [.sample(2, id: id)])
        try catalog.record([.sample(3, id: id)])
        #expect(try all(catalog) == [.sample(3, id: id)])
    }

    @Test func anUnfinishedUploadNeverReplacesAnAcknowledgement() throws {
        let catalog = fixture.open()
        let id = UploadID.random()
        let unfinished = UnfinishedUpload(id: id, path: "a", begun: 1)
        try catalog.recordUnfinished([unfinished])
        #expect(try catalog.entry(for: id) == nil)
        try catalog.record([.sample(1, id: id)])
        for indexes in [false, true] {
            if indexes { try catalog.index() }
            try catalog.recordUnfinished([unfinished])
            #expect(try catalog.entry(for: id) == .sample(1, id: id))
            try catalog.recordUnfinished([], forgetting: [id])
            #expect(try catalog.entry(for: id) == .sample(1, id: id))
        }
        #expect(try all(catalog) == [.sample(1, id: id)])
    }

    @Test func anUnfinishedUploadIsForgotten() throws {
        let catalog = fixture.open()
        let uploads = (0..<3).map { UnfinishedUpload(id: .random(), path: "\($0)", begun: $0) }
        try catalog.recordUnfinished(uploads)
        try catalog.recordUnfinished([], forgetting: [uploads[1].id, .random()])
        #expect(try catalog.unfinished() == [uploads[0], uploads[2]])
        #expect(try fixture.open().unfinished() == [uploads[0], uploads[2]])
        #expect(try all(catalog).isEmpty)
    }

    /// Every declared value is kept, and an undeclared one stays absent.
    @Test func whatWasDeclaredOfAnUnfinishedUploadIsKept() throws {
        let full = UnfinishedUpload(
            id: .random(), path: "e\u{301}/ü", size: UInt64(Int64.max), kind: .picture, function: .sha256,
            conflict: .overwrite, modified: Timestamp(seconds: -5, nanoseconds: 999_999_999), permissions: 0o640,
            sender: "guest", client: .max, begun: 1, run: .max - 1)
        let bare = UnfinishedUpload(id: .random(), path: "a", begun: 2)
        do {
            let catalog = fixture.open()
            try catalog.recordUnfinished([full, bare])
            var again = bare
            (again.size, again.conflict) = (7, .fail)
            try catalog.recordUnfinished([again])
            try catalog.recordUnfinished([bare])
        }
        #expect(try fixture.open().unfinished() == [full, bare])
        #expect(fixture.damages.isEmpty)
    }

    /// An acknowledgement ends an unfinished upload, unless the upload began after it.
    @Test(arguments: [19, 20, 21] as [Int64]) func anAcknowledgedUploadIsUnfinishedNoMore(_ begun: Int64) throws {
        let upload = UnfinishedUpload(id: .random(), path: "a", begun: begun)
        let other = UnfinishedUpload(id: .random(), path: "a", begun: 30)
        let catalog = fixture.open()
        try catalog.recordUnfinished([upload, other])
        var entry = CatalogEntry.sample(1, id: upload.id)
        entry.committed = 20
        try catalog.record([entry])
        #expect(try catalog.unfinished() == (begun > 20 ? [upload, other] : [other]))
        #expect(try fixture.open().unfinished() == (begun > 20 ? [upload, other] : [other]))
    }

    /// A record that needs no sync does not change the sync of the next acknowledgement.
    @Test(.databaseOnly) func onlyAcknowledgementsAreSynced() throws {
        let unfinished = UnfinishedUpload(id: .random(), path: "a", begun: 1)
        for isDurable in [true, false] {
            let fixture = try CatalogFixture()
            _ = fixture.open(isDurable: isDurable)
            let file = CatalogFile(path: fixture.path, isDurable: isDurable, calls: DatabaseCalls())
            let writer = try file.openWriter(validates: false)
            // sqlite.org/pragma.html#pragma_synchronous: 0 off, 1 normal, 2 full.
            func level() throws -> Int64? { try writer.database.execute("PRAGMA synchronous") }
            #expect(try level() == (isDurable ? 2 : 0))
            try writer.writeUnfinished([unfinished])
            #expect(try level() == (isDurable ? 1 : 0))
            try writer.append([CatalogBatch([.sample(1)])])
            #expect(try level() == (isDurable ? 2 : 0))
        }
    }

    /// Recorded entries are found before they are indexed, also if the process dies before that.
    @Test func whatHasArrivedIsKnown() throws {
        let ids = [UploadID.random(), .random()]
        let newer = [CatalogEntry.sample(3, id: ids[1]), .sample(4)]
        do {
            let catalog = fixture.open()
            try catalog.record([.sample(1, id: ids[0]), .sample(2, id: ids[1])])
            #expect(try catalog.entry(for: ids[1]) == .sample(2, id: ids[1]))
            try catalog.record(newer)
            #expect(try catalog.entry(for: ids[1]) == newer[0])
            #expect(try catalog.entry(for: newer[1].id) == newer[1])
        }
        #expect(try fixture.hasRows(0, in: "uploads") && fixture.hasRows(2, in: "arrivals"))
        let again = fixture.open()
        #expect(!again.wasEmpty)
        #expect(try fixture.hasRows(3, in: "uploads") && fixture.hasRows(0, in: "arrivals"))
        #expect(try all(again) == [.sample(1, id: ids[0])] + newer)
    }

    @Test(.databaseOnly) func indexesByItselfWhenMuchHasCome() throws {
        let catalog = fixture.open(isDurable: false)
        let entries = (0..<Catalog.mostArrivals.count).map { CatalogEntry.sample($0) }
        try catalog.record(Array(entries.dropLast()))
        #expect(try fixture.database().execute("SELECT count(*) FROM uploads") == 0)
        try catalog.record([entries[entries.count - 1]])
        #expect(try fixture.database().execute("SELECT count(*) FROM uploads") == Int64(entries.count))
        for entry in [entries[0], entries[entries.count - 1]] { #expect(try catalog.entry(for: entry.id) == entry) }
    }

    /// If another program has damaged a blob, the entries behind the damage are lost, and no others.
    @Test(.databaseOnly) func spoiltArrivalsAreDropped() throws {
        let entries = [CatalogEntry.sample(1), .sample(2), .sample(3)]
        do {
            let catalog = fixture.open()
            try catalog.record(Array(entries.prefix(2)))
            try catalog.record([entries[2]])
        }
        try fixture.database().execute("UPDATE arrivals SET entries = substr(entries, 1, 200) WHERE number = 1")
        let again = fixture.open()
        #expect(try all(again) == [entries[0], entries[2]])
        #expect(fixture.damages.isEmpty)
    }

    @Test(.databaseOnly) func forgetsWhatIsRemoved() throws {
        let catalog = fixture.openDatabase()
        let entries = (0..<5).map { CatalogEntry.sample($0) }
        try catalog.record(entries)
        try catalog.remove([entries[1].id, .random(), entries[3].id])
        #expect(try all(catalog) == [entries[0], entries[2], entries[4]])
        try catalog.remove([])
    }

    @Test func readsThousandsInOrder() throws {
        let catalog = fixture.open(isDurable: false)
        let entries = (0..<3000).map { CatalogEntry.sample($0) }
        for start in stride(from: 0, to: entries.count, by: 250) {
            try catalog.record(Array(entries[start..<start + 250]))
        }
        #expect(try all(catalog) == entries)
    }

    /// A reader that goes through all entries and a writer do not wait for each other.
    @Test func canBeWrittenWhileItIsRead() throws {
        let catalog = fixture.open()
        try catalog.record((0..<600).map { .sample($0) })
        var seen = 0
        try catalog.forEachEntry { _ in
            if seen % 100 == 0 { #expect(throws: Never.self) { try catalog.record([.sample(seen)]) } }
            seen += 1
        }
        #expect(seen >= 600)
    }

    /// Callers that arrive during a transaction share the next one, and each returns when its entries are recorded.
    @Test func manyThreadsRecordAtOnce() async throws {
        let catalog = fixture.open(isDurable: false)
        let batches = (0..<8).map { thread in
            (0..<20).map { _ in (0..<5).map { CatalogEntry.sample(thread * 100 + $0) } }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for own in batches {
                group.addTask {
                    for batch in own {
                        try catalog.record(batch)
                        for entry in batch { #expect(try catalog.entry(for: entry.id) == entry) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try catalog.count() == 800)
    }

    @Test func sumsUpWithoutOverflow() throws {
        let catalog = fixture.open()
        #expect(try catalog.totals().isEmpty)
        var huge = CatalogEntry.sample(1)
        huge.size = (1 << 62) + 3
        var another = CatalogEntry.sample(2)
        another.size = 1 << 20
        try catalog.record([huge, another])
        try catalog.recordUnfinished([UnfinishedUpload(id: .random(), path: "a", size: 5, begun: 1)])
        #expect(
            try catalog.totals() == [.committed: CatalogTotals(uploads: 2, bytes: (1 << 62) + 3 + (1 << 20))])
        try catalog.record(
            (0..<8).map { _ in
                var entry = huge
                entry.id = .random()
                return entry
            })
        #expect(try catalog.totals()[.committed] == CatalogTotals(uploads: 10, bytes: .max))
    }

    @Test(.databaseOnly) func theLogStaysBounded() throws {
        let catalog = fixture.open(isDurable: false)
        var longest = 0
        for start in stride(from: 0, to: 40_000, by: 500) {
            try catalog.record((start..<start + 500).map { .sample($0) })
            longest = max(longest, fixture.size("-wal"))
        }
        #expect(longest > 1 << 20)
        #expect(longest < 16 << 20, "\(longest) bytes")
    }

    /// If another program has damaged a row, its upload is unknown, and the other uploads stay known.
    @Test(
        .databaseOnly,
        arguments: [
            "id = x'00'", "state = 9", "size = -1", "algorithm = 77", "algorithm = 999", "digest = x'0011'",
        ]) func rowsThatCannotBeAreNotKnown(_ change: String) throws
    {
        let entries = [CatalogEntry.sample(1), .sample(2)]
        let catalog = fixture.open()
        try catalog.record(entries)
        try catalog.index()
        try fixture.database().execute("UPDATE uploads SET \(change) WHERE number = 1")
        #expect(try catalog.entry(for: entries[0].id) == nil)
        var found: [CatalogEntry] = []
        #expect(try catalog.forEachEntry { found.append($0) } == 1)
        #expect(found == [entries[1]])
        try catalog.record([entries[0]])
        #expect(try catalog.entry(for: entries[0].id) == entries[0])
        #expect(fixture.damages.isEmpty)
    }

    @Test func foundFilesGetAnIdOfTheirOwn() throws {
        let version = ContentVersion(object: 1, revision: 3, touch: 2, size: 4)
        let path = try RelativePath("a/b")
        let found = [1, 2].map { _ in CatalogEntry(found: path, digest: nil, version: version, at: 9) }
        #expect(found[0].id != found[1].id)
        let catalog = fixture.open()
        try catalog.record(found)
        #expect(try all(catalog) == found)
        #expect(try catalog.totals() == [.committed: CatalogTotals(uploads: 2, bytes: 8)])
    }

    /// After `close`, another server may use the directory, or the directory may be gone: the catalog neither reads nor
    /// writes in it any more.
    @Test func whatIsClosedIsNotOpenedAgain() throws {
        let catalog = fixture.open()
        try catalog.record([.sample(1)])
        try catalog.close()
        TemporaryDirectory.remove(fixture.path)
        #expect(throws: RecordsError.self) { try catalog.entry(for: CatalogEntry.sample(1).id) }
        #expect(throws: RecordsError.self) { try catalog.record([.sample(2)]) }
        #expect(fixture.names.isEmpty)
    }
}
