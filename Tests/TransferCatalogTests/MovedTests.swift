import Testing
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// When files move to other paths, their records move with them, and no upload ID refers to these records.
@Suite(.overEachKindOfRecords) struct MovedTests {
    private func entry(_ number: UInt64, _ path: String, committed: Int64 = 5) -> CatalogEntry {
        CatalogEntry(
            id: UploadID(high: 1, low: number), state: .committed, path: path, size: number, begun: 1,
            committed: committed,
            version: ContentVersion(object: number, revision: 2, touch: 3, size: number), receipt: nil)
    }

    private func paths(_ catalog: any UploadRecords) throws -> Set<String> {
        var paths: Set<String> = []
        try catalog.forEachEntry { paths.insert($0.path) }
        return paths
    }

    private func complete(
        _ catalog: any UploadRecords, _ moves: [PathMove] = [], _ versions: [VersionChange] = [],
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

    /// A file that is newer than the last acknowledgement and is the file of an earlier upload belongs to that upload.
    /// An older file was there before: the last acknowledged file is lost.
    @Test(.databaseOnly) func aFileBelongsToItsOwnUpload() throws {
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

    private let digest = Digest(.xxh128, [UInt8](repeating: 0, count: 16))

    /// New times or permissions do not restore the content. A power cut may restore the old time.
    @Test(arguments: [2, 50] as [Int64]) func whatIsRottenStaysSoWithOtherAttributes(revision: Int64) throws {
        let catalog = try CatalogFixture().open()
        let before = ContentVersion(object: 1, revision: 2, touch: 8, size: 4)
        let after = ContentVersion(object: 1, revision: revision, touch: 9, size: 4)
        try catalog.add(rotten: [RottenFile(version: before, digest: digest)])
        var changes = KnownChanges()
        changes.versions = [VersionChange(path: "a", before: before, after: after)]
        try catalog.complete(.none, changes)
        for version in [before, after] { #expect(try catalog.rotten(version)?.digest == digest) }
        #expect(try catalog.rotten(ContentVersion(object: 2, revision: 2, touch: 8, size: 4)) == nil)
    }

    /// A batch sets one time under one name of a file, and another time under another name.
    @Test func whatIsRottenStaysSoWhenBothNamesAreChangedAtOnce() throws {
        let catalog = try CatalogFixture().open()
        let versions = [2, 50, 60].map { ContentVersion(object: 1, revision: $0, touch: $0, size: 4) }
        try catalog.add(rotten: [RottenFile(version: versions[0], digest: digest)])
        var changes = KnownChanges()
        changes.versions = [
            VersionChange(path: "a", before: versions[0], after: versions[1]),
            VersionChange(path: "b", before: versions[0], after: versions[2]),
        ]
        try catalog.complete(.none, changes)
        #expect(try catalog.rotten(versions[2])?.digest == digest)
    }

    /// After a batch that changes a file twice, both names of the file are known with the last version.
    @Test func ofSeveralChangesTheLastVersionCounts() throws {
        let catalog = try CatalogFixture().open()
        let versions = [2, 50, 60].map { ContentVersion(object: 1, revision: $0, touch: $0, size: 4) }
        let entries = ["a", "b"].map { path in
            CatalogEntry(
                id: .random(), state: .committed, path: path, size: 4, begun: 0, committed: 0, version: versions[0])
        }
        try catalog.record(entries)
        try catalog.index()
        var changes = KnownChanges()
        changes.versions = [
            VersionChange(path: "a", before: versions[0], after: versions[1]),
            VersionChange(path: "b", before: versions[0], after: versions[2]),
        ]
        try catalog.complete(.none, changes)
        #expect(try catalog.entries(for: entries.map(\.id)).map { $0?.version } == [versions[2], versions[2]])
    }
}
