import Testing
import TransferDatabase
import TransferModel
import TransferSystem

@testable import TransferCatalog

/// What the disk has lost, as the catalog keeps it.
@Suite struct RottenFileTests {
    private static let file = RottenFile(
        path: "a/\u{E9}",
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
        #expect(try running.rotten(at: Self.file.path) == Self.file)
        try catalog.close()
        #expect(try fixture.open().rotten(at: Self.file.path) == Self.file)
    }

    @Test func isForgottenByItsPathAndNoOther() throws {
        let catalog = fixture.open()
        var other = Self.file
        other.path = "a/e\u{301}"
        try catalog.add(rotten: [Self.file, other])
        try catalog.removeRotten(at: [Self.file.path, "x"])
        #expect(try catalog.rotten(at: Self.file.path) == nil)
        #expect(try catalog.rotten(at: other.path)?.path.hasSameBytes(as: other.path) ?? false)
        try catalog.removeRotten(at: [other.path])
        let isLeft = try catalog.hasRotten()
        #expect(!isLeft)
    }

    @Test func whatWasFoundLastCounts() throws {
        let catalog = fixture.open()
        var later = Self.file
        later.version = ContentVersion(object: 1, revision: 3, touch: 2, size: 4)
        try catalog.add(rotten: [Self.file])
        try catalog.add(rotten: [later])
        #expect(try catalog.rotten(at: Self.file.path) == later)
    }

    /// Whoever records hears of it without another question, also of what another program has found.
    @Test func whoRecordsHearsOfIt() throws {
        let (catalog, other) = (fixture.open(), fixture.open())
        #expect(try !catalog.record([CatalogEntry.sample(1)]))
        try other.add(rotten: [Self.file])
        #expect(try catalog.record([CatalogEntry.sample(2)]))
        try other.removeRotten(at: [Self.file.path])
        #expect(try !catalog.record([CatalogEntry.sample(3)]))
    }

    /// A name of a rotten file replaces another name of it. One of the two marks is from before the file's time was set under the other
    /// name, and says nothing of the file any more.
    @Test(arguments: ["a", "b"]) func aNameThatReplacesAnotherNameOfTheSameFile(marked: String) throws {
        let catalog = fixture.open()
        for path in ["a", "b"] {
            var file = Self.file
            file.path = path
            file.version = ContentVersion(object: 6, revision: path == marked ? 9 : 3, touch: 2, size: 4)
            try catalog.add(rotten: [file])
        }
        var changes = KnownChanges()
        changes.moves = [PathMove("a", to: "b", object: 6, revision: 9, at: 5)]
        try catalog.complete(.none, changes)
        #expect(try catalog.rotten(at: "b")?.version.revision == 9)
        #expect(try catalog.rotten(at: "a") == nil)
    }

    /// A file is found rotten under one name. The other path has another upload as well, which came to the catalog later, or is known to be
    /// rotten as another file: that stays known.
    @Test(arguments: [false, true]) func anotherNameWhoseUploadIsNotTheNewest(isKnown: Bool) throws {
        let catalog = fixture.open()
        var entries = (0..<3).map { CatalogEntry.sample($0) }
        let version = ContentVersion(object: 6, revision: 3, touch: 2, size: 4)
        for (index, path) in ["a", "b", "b"].enumerated() {
            (entries[index].path, entries[index].size) = (path, 4)
            entries[index].version = index < 2 ? version : ContentVersion(object: 7, revision: 3, touch: 2, size: 4)
        }
        try catalog.record(entries)
        _ = try catalog.entries(at: ["b"])
        var other = Self.file
        other.path = "b"
        if isKnown { try catalog.add(rotten: [other]) }
        try catalog.add(rotten: [RottenFile(path: "a", version: version, digest: Self.file.digest)])
        #expect(try catalog.rotten(at: "b")?.version == (isKnown ? other.version : version))
    }

    /// New permissions change the time of change alone.
    @Test func isStillTheSameFile() {
        let rotten = RottenFile(
            path: "a", version: ContentVersion(object: 1, revision: 3, touch: 2, size: 4), digest: Self.file.digest)
        #expect(rotten.isStill(ContentVersion(object: 1, revision: 3, touch: 9, size: 4)))
        #expect(!rotten.isStill(ContentVersion(object: 9, revision: 3, touch: 2, size: 4)))
        #expect(!rotten.isStill(ContentVersion(object: 1, revision: 9, touch: 2, size: 4)))
        #expect(!rotten.isStill(ContentVersion(object: 1, revision: 3, touch: 2, size: 9)))
    }

    @Test(arguments: ["size = -1", "algorithm = 99", "digest = x''"]) func rowsThatCannotBeAreLeftOut(
        _ change: String
    ) throws {
        let catalog = fixture.open()
        try catalog.add(rotten: [Self.file])
        try fixture.database().execute("UPDATE rotten SET \(change)")
        #expect(try catalog.rotten(at: Self.file.path) == nil)
    }
}
