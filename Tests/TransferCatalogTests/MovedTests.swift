import Testing
import TransferModel

@testable import TransferCatalog

/// What is known of files goes with them to other paths, and no id stands for it there.
@Suite struct MovedTests {
    private func entry(_ number: UInt64, _ path: String, committed: Int64 = 5) -> CatalogEntry {
        CatalogEntry(
            id: UploadID(high: 1, low: number), state: .committed, path: path, size: number, begun: 1,
            committed: committed,
            version: ContentVersion(object: number, revision: 2, touch: 3, size: number), receipt: nil)
    }

    private func paths(_ catalog: Catalog) throws -> Set<String> {
        var paths: Set<String> = []
        try catalog.forEachEntry { paths.insert($0.path) }
        return paths
    }

    private func complete(
        _ catalog: Catalog, _ moves: [PathMove] = [], _ versions: [VersionChange] = [],
        links: [PathLink] = [], replaced: [KnownChanges.Replaced] = []
    ) throws {
        var changes = KnownChanges()
        (changes.moves, changes.versions, changes.links, changes.replaced) = (moves, versions, links, replaced)
        try catalog.complete(.none, changes)
    }

    @Test func aFileTakesTheNameAndLosesItsID() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        try catalog.record([entry(1, "a"), entry(2, "b"), entry(3, "ab")])
        try complete(catalog, [PathMove("a", to: "b", object: 1, at: 9)])
        #expect(try paths(catalog) == ["b", "ab"])
        #expect(try catalog.entries(for: [entry(1, "").id, entry(2, "").id]) == [nil, nil])
        #expect(try catalog.entries(at: ["b"])[0].map(\.size) == [1])
    }

    @Test(arguments: [3, 1_300]) func allInAFolderGoesWithIt(count: Int) throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        try catalog.record(
            (1...count).map { entry(UInt64($0), "d/é\($0)/x") } + [entry(9_999, "d0"), entry(9_998, "d.x")])
        try complete(catalog, [PathMove("d", to: "n/eé", at: 9)])
        #expect(try paths(catalog) == Set((1...count).map { "n/eé/é\($0)/x" } + ["d0", "d.x"]))
    }

    @Test func whatWasAcknowledgedLaterIsAboutAnotherFile() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        try catalog.record([entry(1, "a"), entry(2, "a", committed: 10)])
        try complete(catalog, [PathMove("a", to: "b", object: 1, at: 9)])
        #expect(try catalog.entries(at: ["a", "b"]).map { $0.map(\.size) } == [[2], [1]])
    }

    /// A file that came later than what was acknowledged last, and is the one of an earlier upload, belongs to that. One that is older
    /// is what was there before: what was acknowledged last is lost.
    @Test func aFileBelongsToItsOwnUpload() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        try catalog.record([entry(1, "a", committed: 5), entry(2, "a", committed: 6)])
        try catalog.close()
        let owners = try PathOwners(path: fixture.path)
        for (touch, size) in [(2, 2), (3, 2), (4, 1)] as [(Int64, UInt64)] {
            let file = ContentVersion(object: 1, revision: 2, touch: touch, size: 1)
            #expect(try owners.find("a", file)?.size == size)
        }
        #expect(try owners.find("a")?.size == 2)
        #expect(try owners.find("a", ContentVersion(object: 7, revision: 2, touch: 9, size: 1))?.size == 2)
    }

    @Test func otherAttributesMakeNoOtherFile() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        let before = entry(1, "a")
        try catalog.record([before, entry(2, "a")])
        let after = ContentVersion(object: 1, revision: 20, touch: 30, size: 1)
        try complete(catalog, [], [VersionChange(path: "a", before: try #require(before.version), after: after)])
        let found = try catalog.entries(for: [before.id, entry(2, "").id])
        #expect(found.map { $0?.version?.revision } == [20, 2])
    }

    @Test func whatIsRottenIsSoUnderItsNewPath() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        let version = ContentVersion(object: 1, revision: 2, touch: 3, size: 4)
        let digest = Digest(.xxh128, [UInt8](repeating: 0, count: 16))
        for path in ["a", "d/x"] { try catalog.add(rotten: [RottenFile(path: path, version: version, digest: digest)]) }
        try complete(
            catalog,
            [
                PathMove("a", to: "b", object: 1, at: 9), PathMove("d", to: "e", at: 9),
            ])
        #expect(try catalog.rotten(at: "b") != nil && catalog.rotten(at: "e/x") != nil)
        #expect(try catalog.rotten(at: "a") == nil && catalog.rotten(at: "d/x") == nil)
    }

    /// A file that is known to be rotten, at a path.
    private func rot(_ catalog: Catalog, _ object: UInt64, at path: String, content: UInt8 = 0) throws {
        let version = ContentVersion(object: object, revision: 2, touch: 3, size: 4)
        let digest = Digest(.xxh128, [UInt8](repeating: content, count: 16))
        try catalog.add(rotten: [RottenFile(path: path, version: version, digest: digest)])
    }

    /// A refused move names both paths as well. What is rotten at one of them stays there.
    @Test func whatIsRottenStaysWhereAnotherFileIsMoved() throws {
        let catalog = try CatalogFixture().open()
        try rot(catalog, 1, at: "c")
        try complete(catalog, [PathMove("c", to: "q", object: 7, at: .min)])
        #expect(try catalog.rotten(at: "c")?.version.object == 1)
        #expect(try catalog.rotten(at: "q") == nil)
        // The other file is moved away, and the rotten one takes its place.
        try complete(catalog, [PathMove("c", to: "q", object: 1, at: 9)])
        #expect(try catalog.rotten(at: "q")?.version.object == 1)
        #expect(try catalog.rotten(at: "c") == nil)
    }

    /// A new time or other rights bring no content back.
    @Test(arguments: [2, 50] as [Int64]) func whatIsRottenStaysSoWithOtherAttributes(revision: Int64) throws {
        let catalog = try CatalogFixture().open()
        // The file at "v/a" is on another disk, and has the same numbers.
        for (path, content) in [("a", 0), ("v/a", 1), ("b", 0)] as [(String, UInt8)] {
            try rot(catalog, 1, at: path, content: content)
        }
        let before = ContentVersion(object: 1, revision: 2, touch: 8, size: 4)
        let after = ContentVersion(object: 1, revision: revision, touch: 9, size: 4)
        var changes = KnownChanges()
        changes.versions = [VersionChange(path: "a", before: before, after: after)]
        try catalog.complete(.none, changes)
        for path in ["a", "b"] { #expect(try catalog.rotten(at: path)?.isStill(after) == true) }
        #expect(try catalog.rotten(at: "v/a")?.isStill(before) == true)
    }

    /// One batch sets a time under one name of a file, and then another time under another name.
    @Test func whatIsRottenStaysSoWhenBothNamesAreChangedAtOnce() throws {
        let catalog = try CatalogFixture().open()
        for path in ["a", "b"] { try rot(catalog, 1, at: path) }
        let first = ContentVersion(object: 1, revision: 2, touch: 3, size: 4)
        let second = ContentVersion(object: 1, revision: 50, touch: 9, size: 4)
        let last = ContentVersion(object: 1, revision: 60, touch: 10, size: 4)
        var changes = KnownChanges()
        changes.versions = [
            VersionChange(path: "a", before: first, after: second),
            VersionChange(path: "b", before: first, after: last),
        ]
        try catalog.complete(.none, changes)
        for path in ["a", "b"] { #expect(try catalog.rotten(at: path)?.isStill(last) == true) }
    }

    @Test func whatIsRottenIsSoUnderItsSecondName() throws {
        let catalog = try CatalogFixture().open()
        try rot(catalog, 1, at: "a")
        let before = ContentVersion(object: 1, revision: 2, touch: 3, size: 4)
        let after = ContentVersion(object: 1, revision: 50, touch: 9, size: 4)
        var changes = KnownChanges()
        changes.links = [PathLink("a", as: "b", before: before, after: after, at: 9)]
        changes.versions = [VersionChange(path: "a", before: before, after: after)]
        try catalog.complete(.none, changes)
        for path in ["a", "b"] { #expect(try catalog.rotten(at: path)?.isStill(after) == true, "\(path)") }
    }

    /// A scrub finds a file under one of its names, and the other one may be in the trash, which it does not read.
    @Test func whatIsRottenIsSoUnderAllItsNames() throws {
        let catalog = try CatalogFixture().open()
        for path in ["a", "b", "c"] {
            let version = ContentVersion(object: path == "c" ? 2 : 1, revision: 2, touch: 3, size: 4)
            try catalog.record([
                CatalogEntry(
                    id: .random(), state: .committed, path: path, size: 4, begun: 0, committed: 0, version: version)
            ])
        }
        // Another file has taken a name of the first one, and is known to be rotten as well.
        try catalog.record([
            CatalogEntry(
                id: .random(), state: .committed, path: "d", size: 4, begun: 0, committed: 0,
                version: ContentVersion(object: 1, revision: 2, touch: 3, size: 4)),
            CatalogEntry(
                id: .random(), state: .committed, path: "d", size: 4, begun: 0, committed: 0,
                version: ContentVersion(object: 3, revision: 2, touch: 5, size: 4)),
        ])
        try catalog.settle()
        try rot(catalog, 3, at: "d")
        try rot(catalog, 1, at: "a")
        #expect(try ["a", "b", "c"].map { try catalog.rotten(at: $0) != nil } == [true, true, false])
        #expect(try catalog.rotten(at: "d")?.version.object == 3)
    }
}
