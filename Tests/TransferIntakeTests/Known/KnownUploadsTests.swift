import Testing
import TransferAccess
import TransferCatalog
import TransferModel
import TransferPorts
import TransferSystem
import TransferTestSupport

@testable import TransferIntake

@Suite struct KnownUploadsTests {
    /// The file that a client stored is gone, and another file has its number, so the client does not own the other
    /// file. A change that alters neither size nor time of modification, such as new permissions, does not change the
    /// owner of a file.
    @Test func aNumberThatWasGivenToAnother() throws {
        let directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let known = KnownUploads(catalog, isShared: false, clock: .system) { _ in }
        let view = Caller(Grant(.token("a"), name: "guest"), UploadScope(), peer: "")
        let stored = ContentVersion(object: 7, revision: 50, touch: 100, size: 3)
        known.record([
            CatalogEntry(
                id: .random(), state: .committed, path: "c", size: 3,
                digest: Digest(.xxh128, [UInt8](repeating: 1, count: 16)),
                sender: "guest", client: view.id, begun: 1, committed: 2, version: stored)
        ])
        let path = try RelativePath("c")
        #expect(known.hasStored(view, path, stored))
        #expect(known.hasStored(view, path, ContentVersion(object: 7, revision: 50, touch: 200, size: 3)))
        #expect(!known.hasStored(view, path, ContentVersion(object: 7, revision: 200, touch: 200, size: 3)))
        #expect(!known.hasStored(view, path, ContentVersion(object: 7, revision: 50, touch: 200, size: 4)))
        #expect(!known.hasStored(view, path, ContentVersion(object: 8, revision: 50, touch: 100, size: 3)))
        known.close()
    }

    /// An upload is stored, another one replaces it and is found rotten, and only then the first one is recorded.
    @Test func whatIsRecordedLateDoesNotHeal() throws {
        let directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let known = KnownUploads(catalog, isShared: false, clock: .system) { _ in }
        let digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        func record(_ file: ContentVersion) {
            let entry = CatalogEntry(
                id: .random(), state: .committed, path: "c", size: 3, digest: digest, sender: "", begun: 1,
                committed: 2,
                version: file)
            known.record([entry])
        }
        let first = ContentVersion(object: 7, revision: 50, touch: 100, size: 3)
        let second = ContentVersion(object: 8, revision: 50, touch: 200, size: 3)
        record(second)
        known.add(rotten: RottenFile(version: second, digest: digest))
        record(first)
        #expect(known.isRotten(second))
        // An entry for another object at the path, such as a hard link or a file restored by a power cut, heals
        // nothing.
        record(ContentVersion(object: 9, revision: 50, touch: 300, size: 3))
        #expect(known.isRotten(second))
        // Recording a new file with the number heals the mark.
        record(ContentVersion(object: 8, revision: 50, touch: 400, size: 3))
        #expect(!known.isRotten(second))
        known.close()
    }

    /// An upload is compared with a file, and the disk loses that file before the upload is recorded: the file stays
    /// marked. A mark from before the comparison is removed, since the comparison has shown that the content is intact.
    @Test(arguments: [false, true]) func whatIsFoundRottenBehindItsComparisonStaysMarked(wasMarked: Bool) throws {
        let directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let known = KnownUploads(catalog, isShared: false, clock: .system) { _ in }
        let file = ContentVersion(object: 7, revision: 50, touch: 100, size: 3)
        let digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        let mark = RottenFile(version: file, digest: digest)
        if wasMarked { known.add(rotten: mark) }
        let marked = known.marks { [file, nil] }
        #expect(marked == (wasMarked ? [file] : []))
        known.add(rotten: mark)
        let entry = CatalogEntry(
            id: .random(), state: .alreadyStored, path: "c", size: 3, digest: digest, sender: "", begun: 1,
            committed: 2, version: file)
        known.record([entry], marked: marked)
        #expect(known.isRotten(file) != wasMarked)
        known.close()
    }

    /// Without marks the server looks at no files. It knows the marks that it has made itself.
    @Test func marksAreLookedForWhereThereAreAny() throws {
        let directory = try TemporaryDirectory()
        let catalog = Catalog(path: directory.path("catalog"), isDurable: false) { _ in }
        let known = KnownUploads(catalog, isShared: false, clock: .system) { _ in }
        let file = ContentVersion(object: 7, revision: 50, touch: 100, size: 3)
        let digest = Digest(.xxh128, [UInt8](repeating: 1, count: 16))
        let entry = CatalogEntry(
            id: .random(), state: .committed, path: "c", size: 3, digest: digest, sender: "", begun: 1, committed: 2,
            version: ContentVersion(object: 8, revision: 50, touch: 100, size: 3))
        known.record([entry])
        var looked = 0
        #expect(
            known.marks {
                looked += 1; return [file]
            }.isEmpty && looked == 0)
        known.add(rotten: RottenFile(version: file, digest: digest))
        #expect(known.marks { [file] } == [file])
        known.close()
    }
}
