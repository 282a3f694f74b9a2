import Testing
import TransferDatabase
import TransferModel
import TransferPorts
import TransferTestSupport

@testable import TransferCatalog

/// The next server reads all paths that this one has written, whatever their names: those of clients, and places in the
/// trash.
@Suite(.overEachKindOfRecords) struct OddPathsTests {
    private static let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)

    private static func paths() throws -> [String] {
        let paths = try OddNames.paths.map { try RelativePath($0) }
        return paths.map(\.string) + paths.map { RelativePath.trash(batch, $0).string }
    }

    private static func version(_ number: Int) -> ContentVersion {
        ContentVersion(object: UInt64(number), revision: 2, touch: 3, size: UInt64(number))
    }

    private func areSame(_ found: [String], _ expected: [String]) -> Bool {
        found.count == expected.count && zip(found, expected).allSatisfy { $0.hasSameBytes(as: $1) }
    }

    /// The entries are in a blob first, and later in separate rows.
    @Test(arguments: [false, true]) func uploadsComeBack(isIndexed: Bool) throws {
        let fixture = try CatalogFixture()
        let paths = try Self.paths()
        let entries = paths.indices.map { number in
            var entry = CatalogEntry.sample(number)
            (entry.path, entry.sender) = (paths[number], paths[number])
            return entry
        }
        do {
            let catalog = fixture.open()
            try catalog.record(entries)
            if isIndexed { try catalog.index() }
            try catalog.close()
        }
        let found = try fixture.open().entries(for: entries.map(\.id)).compactMap(\.self)
        #expect(found.count == entries.count)
        #expect(areSame(found.map(\.path), paths) && areSame(found.map(\.sender), paths))
        #expect(try areSame(fixture.open().entries(at: paths).compactMap { $0.last?.path }, paths))
    }

    @Test func whatWasIntendedComesBack() throws {
        let fixture = try CatalogFixture()
        let paths = try Self.paths()
        do {
            let catalog = fixture.open()
            let changes = paths.indices.map { number in
                IntendedChange(
                    .move, paths[number], to: paths[paths.count - 1 - number], before: Self.version(number), at: 9)
            }
            _ = try catalog.intend(changes)
            try catalog.close()
        }
        let found = try fixture.open().intended().compactMap(\.change)
        #expect(areSame(found.map(\.path), paths) && areSame(found.map(\.target), paths.reversed()))
        // The next server looks up each path.
        var looked: [String] = []
        let resolved = try fixture.open().resolveIntended { (path) throws(StoreFault) in
            looked.append(path.string)
            return nil
        }
        #expect(resolved == paths.count && Set(looked.map { PathKey($0) }) == Set(paths.map { PathKey($0) }))
    }

    private enum StoreFault: Error {}

    @Test func whatIsUnfinishedComesBack() throws {
        let fixture = try CatalogFixture()
        let paths = try OddNames.paths.map { try RelativePath($0).string }
        let uploads = paths.indices.map {
            UnfinishedUpload(id: .random(), path: paths[$0], sender: paths[$0], begun: Int64($0))
        }
        do {
            let catalog = fixture.open()
            try catalog.recordUnfinished(uploads)
            try catalog.close()
        }
        let found = try fixture.open().unfinished()
        #expect(areSame(found.map(\.path), paths) && areSame(found.map(\.sender), paths))
    }
}
