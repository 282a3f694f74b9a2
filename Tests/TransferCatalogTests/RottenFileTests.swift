import Testing
import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCatalog

/// The catalog's marks of files whose content the disk has lost.
@Suite(.overEachKindOfRecords) struct RottenFileTests {
    private static let file = RottenFile(
        version: ContentVersion(object: .max, revision: .min, touch: -1, size: UInt64(Int64.max)),
        digest: Digest(.xxh128, Array(0..<16)))

    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    @Test func isKnownToLaterServersAndToThoseThatRun() throws {
        let (catalog, running) = (fixture.open(), fixture.open())
        let before = try running.hasRotten()
        #expect(!before)
        try catalog.add(rotten: [Self.file])
        let after = try running.hasRotten()
        #expect(after && fixture.damages.isEmpty)
        #expect(try running.rotten(Self.file.version) == Self.file)
        try catalog.close()
        #expect(try fixture.open().rotten(Self.file.version) == Self.file)
    }

    /// New permissions and names change only the time of change, so the file is still the rotten one.
    @Test func isKnownByItsContent() throws {
        let catalog = fixture.open()
        let version = ContentVersion(object: 1, revision: 3, touch: 2, size: 4)
        try catalog.add(rotten: [RottenFile(version: version, digest: Self.file.digest)])
        func isRotten(_ object: UInt64, _ revision: Int64, _ size: UInt64) throws -> Bool {
            try catalog.rotten(ContentVersion(object: object, revision: revision, touch: 9, size: size)) != nil
        }
        #expect(try isRotten(1, 3, 4))
        #expect(try !isRotten(9, 3, 4) && !isRotten(1, 9, 4) && !isRotten(1, 3, 9))
    }

    @Test func isForgottenByItsContentAndNoOther() throws {
        let catalog = fixture.open()
        var other = Self.file
        other.version = ContentVersion(object: .max, revision: .max, touch: -1, size: UInt64(Int64.max))
        try catalog.add(rotten: [Self.file, other])
        try catalog.removeRotten([Self.file.version])
        #expect(try catalog.rotten(Self.file.version) == nil)
        #expect(try catalog.rotten(other.version) == other)
        try catalog.removeRotten([other.version])
        let isLeft = try catalog.hasRotten()
        #expect(!isLeft)
    }

    @Test func whatWasFoundLastCounts() throws {
        let catalog = fixture.open()
        var later = Self.file
        later.digest = Digest(.sha256, Array(0..<32))
        try catalog.add(rotten: [Self.file])
        try catalog.add(rotten: [later])
        #expect(try catalog.rotten(Self.file.version) == later)
    }

    /// A caller that records an upload learns without another query that there are rotten files, also those that
    /// another program has found.
    @Test func whoRecordsHearsOfIt() throws {
        let (catalog, other) = (fixture.open(), fixture.open())
        #expect(try !catalog.record([CatalogEntry.sample(1)]))
        try other.add(rotten: [Self.file])
        #expect(try catalog.record([CatalogEntry.sample(2)]))
        try other.removeRotten([Self.file.version])
        #expect(try !catalog.record([CatalogEntry.sample(3)]))
    }

    /// Moved or replaced names do not change which content is lost.
    @Test func movesDoNotMatter() throws {
        let catalog = fixture.open()
        try catalog.add(rotten: [Self.file])
        var changes = KnownChanges()
        changes.moves = [PathMove("a", to: "b", object: .max, at: 5)]
        changes.replaced = [KnownChanges.Replaced("c", at: 5)]
        try catalog.complete(.none, changes)
        #expect(try catalog.rotten(Self.file.version) == Self.file)
    }

    @Test(.databaseOnly, arguments: ["algorithm = 99", "digest = x''"]) func rowsThatCannotBeAreLeftOut(
        _ change: String
    ) throws {
        let catalog = fixture.open()
        try catalog.add(rotten: [Self.file])
        try fixture.database().execute("UPDATE rotten SET \(change)")
        #expect(try catalog.rotten(Self.file.version) == nil)
    }
}
