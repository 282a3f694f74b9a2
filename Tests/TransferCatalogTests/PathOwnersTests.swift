import Testing
import TransferDatabase
import TransferModel

@testable import TransferCatalog

/// Which upload a program beside the server takes a stored file for.
@Suite struct PathOwnersTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    private func entry(_ number: Int, object: UInt64, revision: Int64, touch: Int64) -> CatalogEntry {
        var entry = CatalogEntry.sample(number)
        entry.path = "a"
        entry.size = 4
        entry.committed = Int64(number)
        entry.version = ContentVersion(object: object, revision: revision, touch: touch, size: 4)
        return entry
    }

    /// - Returns: the number of the entry that a file belongs to.
    private func owner(of file: ContentVersion?, among entries: [CatalogEntry]) throws -> Int64? {
        let catalog = fixture.open()
        try catalog.record(entries)
        try catalog.close()
        return try PathOwners(path: fixture.path).find("a", file)?.committed
    }

    /// Two names of a file, one of which was moved over the other: the time was set under the first, and the second has come here
    /// last.
    @Test func aFileWithAnotherRevisionBelongsToTheUploadThatHasIt() throws {
        let entries = [
            entry(1, object: 6, revision: 9, touch: 2), entry(2, object: 6, revision: 3, touch: 1),
        ]
        let file = ContentVersion(object: 6, revision: 9, touch: 5, size: 4)
        #expect(try owner(of: file, among: entries) == 1)
    }

    @Test func aFileThatCameBackBelongsToItsUpload() throws {
        let entries = [
            entry(1, object: 6, revision: 9, touch: 2), entry(2, object: 7, revision: 3, touch: 3),
        ]
        #expect(try owner(of: ContentVersion(object: 6, revision: 9, touch: 5, size: 4), among: entries) == 1)
    }

    /// An older file than the one that was acknowledged last is not that, whatever else was acknowledged.
    @Test func anOlderFileBelongsToTheLastUpload() throws {
        let entries = [
            entry(1, object: 6, revision: 9, touch: 2), entry(2, object: 7, revision: 3, touch: 9),
        ]
        #expect(try owner(of: ContentVersion(object: 6, revision: 9, touch: 2, size: 4), among: entries) == 2)
    }

    @Test(arguments: [nil, ContentVersion(object: 6, revision: 3, touch: 5, size: 4)])
    func aFileThatNoUploadHasBelongsToTheLast(file: ContentVersion?) throws {
        let entries = [
            entry(1, object: 6, revision: 9, touch: 2), entry(2, object: 6, revision: 8, touch: 3),
        ]
        #expect(try owner(of: file, among: entries) == 2)
    }

    /// A scrub finds another file well under the path. Until that is recorded, a power cut may bring the rotten one back.
    @Test func theMarkOfAnotherFileStays() throws {
        let rotten = RottenFile(
            path: "a", version: ContentVersion(object: 6, revision: 3, touch: 1, size: 4),
            digest: Digest(.xxh128, Array(0..<16)))
        let catalog = fixture.open()
        try catalog.add(rotten: [rotten])
        let owners = try PathOwners(path: fixture.path)
        try owners.removeRotten(at: "a", ContentVersion(object: 7, revision: 3, touch: 9, size: 4))
        #expect(try catalog.rotten(at: "a") == rotten)
        try owners.removeRotten(at: "a", ContentVersion(object: 6, revision: 3, touch: 9, size: 4))
        #expect(try catalog.rotten(at: "a") == nil)
    }
}
