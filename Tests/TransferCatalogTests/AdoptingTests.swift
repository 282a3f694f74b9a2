import Testing
import TransferDatabase
import TransferModel
import TransferPorts
import TransferSystem

@testable import TransferCatalog

/// The catalog of a directory that was copied.
@Suite(.overEachKindOfRecords) struct AdoptingTests {
    private let fixture: CatalogFixture

    init() throws {
        fixture = try CatalogFixture()
    }

    private static func digest(_ byte: UInt8) -> Digest { Digest(.xxh128, [UInt8](repeating: byte, count: 16)) }

    private static func version(_ object: UInt64, revision: Int64 = 3, touch: Int64 = 2, size: UInt64 = 4)
        -> ContentVersion
    {
        ContentVersion(object: object, revision: revision, touch: touch, size: size)
    }

    private static func entry(
        _ path: String, _ version: ContentVersion, _ digest: Digest, _ state: CatalogEntry.State = .committed
    ) -> CatalogEntry {
        CatalogEntry(
            id: .random(), state: state, path: path, size: version.size, digest: digest, isDurable: true, begun: 1,
            committed: 2, version: version)
    }

    private static let home = DirectoryHome(token: .max, object: .max, touch: .min, catalog: 7)

    @Test func aHomeIsKept() throws {
        let catalog = fixture.open()
        #expect(try catalog.home() == nil)
        try catalog.keep(KnownHome(Self.home, isAdopting: true), rotten: [], voidsOthers: false)
        try catalog.close()
        let next = fixture.open()
        #expect(try next.home() == KnownHome(Self.home, isAdopting: true))
        try next.endAdoption()
        #expect(try next.home() == KnownHome(Self.home, isAdopting: false))
        let other = DirectoryHome(token: 0, object: 1, touch: 2, catalog: 3)
        try next.keep(KnownHome(other, isAdopting: true), rotten: [], voidsOthers: true)
        #expect(try next.home() == KnownHome(other, isAdopting: true))
    }

    /// Marks contain the inode numbers of files, which files of the copy may have by chance.
    @Test(arguments: [true, false]) func marksOfTheOriginal(areVoid: Bool) throws {
        let catalog = fixture.open()
        let (old, new) = (Self.version(1), Self.version(9))
        try catalog.record([Self.entry("a", old, Self.digest(1))])
        try catalog.add(rotten: [RottenFile(version: old, digest: Self.digest(1))])
        let found = try catalog.rottenPaths()
        #expect(found.map(\.path) == ["a"] && found.first?.file.digest == Self.digest(1))
        #expect(found.first?.file.version.hasSameContent(as: old) ?? false)
        let marks = [RottenFile(version: new, digest: Self.digest(1))]
        try catalog.keep(KnownHome(Self.home, isAdopting: true), rotten: marks, voidsOthers: areVoid)
        #expect(try catalog.rotten(new) != nil)
        #expect(try (catalog.rotten(old) == nil) == areVoid)
    }

    /// An upload is adopted only if path, size, modification time and digest are those of the file; all such uploads of
    /// the file are adopted.
    @Test func onlyUploadsOfTheFileAreAdopted() throws {
        let catalog = fixture.open()
        let (old, new, digest) = (Self.version(1), Self.version(9, touch: 8), Self.digest(1))
        let own = [
            Self.entry("a", old, digest), Self.entry("a", old, digest, .alreadyStored),
            Self.entry("a", Self.version(2, touch: 1), digest),
        ]
        let others = [
            Self.entry("b", old, digest), Self.entry("a", old, Self.digest(2)),
            Self.entry("a", Self.version(1, revision: 4), digest), Self.entry("a", Self.version(1, size: 5), digest),
            Self.entry("a", old, Digest(.sha256, [UInt8](repeating: 1, count: 32))),
        ]
        try catalog.record(own + others)
        try catalog.add(rotten: [RottenFile(version: new, digest: digest)])
        var adoptions = Adoptions()
        adoptions.files = [AdoptedFile(path: "a", digest: digest, version: new)]
        try catalog.adopt(adoptions)
        #expect(try catalog.entries(for: own.map(\.id)).map { $0?.version } == own.map { _ in new })
        #expect(try catalog.entries(for: others.map(\.id)).map { $0?.version } == others.map(\.version))
        #expect(try !catalog.hasRotten())
    }

    /// A path with more uploads than the catalog keeps, and with a name that SQLite must not normalise.
    @Test func aPathWithManyUploads() throws {
        let catalog = fixture.open()
        let (old, new, digest) = (Self.version(1), Self.version(9), Self.digest(1))
        let entries = (0..<1100).map { number in
            Self.entry("e\u{301}", old, digest, number.isMultiple(of: 3) ? .committed : .alreadyStored)
        }
        try catalog.record(entries + [Self.entry("\u{E9}", old, digest)])
        var adoptions = Adoptions()
        adoptions.files = [AdoptedFile(path: "e\u{301}", digest: digest, version: new)]
        adoptions.rotten = [RottenFile(version: Self.version(5), digest: digest)]
        try catalog.adopt(adoptions)
        let kept = try catalog.entries(for: entries.map(\.id)).compactMap(\.self)
        #expect(kept.count == 2 * Catalog.mostOfPath && kept.allSatisfy { $0.version == new })
        #expect(try catalog.entries(at: ["\u{E9}"])[0].map(\.version) == [old])
        #expect(try catalog.rotten(Self.version(5)) != nil)
    }

    @Test func allPathsInTheOrderOfTheirBytes() throws {
        let catalog = fixture.open()
        let paths = (0..<300).map { "f\($0)" } + ["\u{E9}", "e\u{301}", "/"]
        try catalog.record(
            paths.flatMap { path in (0..<3).map { _ in Self.entry(path, Self.version(1), Self.digest(1)) } })
        #expect(try catalog.pathCount() == paths.count)
        var (found, end): ([String], [UInt8]) = ([], [])
        while case let page = try catalog.paths(after: end), !page.paths.isEmpty {
            found += page.paths
            end = page.end
        }
        #expect(
            found.map { Array($0.utf8) } == paths.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }
}
