import Testing
import TransferDatabase
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// A program beside the server finds the upload that a stored file belongs to.
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

    /// - Returns: commit time of the entry that the file belongs to; tests use it as the number of the entry.
    private func owner(of file: ContentVersion?, among entries: [CatalogEntry]) throws -> Int64? {
        let catalog = fixture.openDatabase()
        try catalog.record(entries)
        try catalog.close()
        return try PathOwners(path: fixture.path).find("a", file)?.committed
    }

    /// A file had two names, and one was moved over the other: the time was set under the first name, and the second
    /// was moved here last.
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

    /// A file that is older than the last acknowledgement is not the file that was acknowledged last, whatever else was
    /// acknowledged. The path still belongs to the last upload.
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

    /// A scrub that finds a file intact removes the mark of the file. A mark that the same scrub has made stays: a file
    /// on another disk may have equal numbers.
    @Test func whatIsFoundWellIsForgotten() throws {
        let version = ContentVersion(object: 6, revision: 3, touch: 1, size: 4)
        let rotten = RottenFile(version: version, digest: Digest(.xxh128, Array(0..<16)))
        let catalog = fixture.openDatabase()
        try catalog.record([entry(1, object: 6, revision: 3, touch: 1)])
        try catalog.index()
        try catalog.add(rotten: [rotten])
        let owners = try PathOwners(path: fixture.path)
        try owners.removeRotten(ContentVersion(object: 7, revision: 3, touch: 9, size: 4))
        #expect(try catalog.rotten(version) == rotten)
        try owners.add(rotten: rotten)
        try owners.removeRotten(version)
        #expect(try catalog.rotten(version) == rotten)
        try PathOwners(path: fixture.path).removeRotten(ContentVersion(object: 6, revision: 3, touch: 9, size: 4))
        #expect(try catalog.rotten(version) == nil)
    }

    /// The mark of a file that no upload refers to is removed.
    @Test func whatNoUploadHasIsForgotten() throws {
        let catalog = fixture.openDatabase()
        try catalog.record([entry(1, object: 6, revision: 3, touch: 1)])
        try catalog.index()
        let versions = [6, 7].map { ContentVersion(object: $0, revision: 3, touch: 1, size: 4) }
        let digest = Digest(.xxh128, Array(0..<16))
        try catalog.add(rotten: versions.map { RottenFile(version: $0, digest: digest) })
        _ = try PathOwners(path: fixture.path)
        #expect(try versions.map { try catalog.rotten($0) != nil } == [true, false])
    }
}
