import Testing
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// The catalog's records of the files in one folder.
@Suite(.overEachKindOfRecords) struct KnownFilesTests {
    private static func entry(
        _ path: String, _ number: UInt64, state: CatalogEntry.State = .committed, client: UInt64? = nil,
        sender: String = "", hasVersion: Bool = true
    ) -> CatalogEntry {
        CatalogEntry(
            id: UploadID(high: 7, low: number), state: state, path: path, size: number,
            digest: Digest(.xxh128, [UInt8](repeating: 1, count: 16)), isDurable: true, sender: sender, client: client,
            begun: 1, committed: 2,
            version: hasVersion ? ContentVersion(object: number, revision: 3, touch: 4, size: number) : nil)
    }

    /// The files of all pages, and the number of pages.
    private func all(
        _ catalog: any UploadRecords, _ folder: String?, client: UInt64? = nil, sender: String = ""
    ) throws -> (files: [KnownFile], pages: Int) {
        let query = KnownFiles.Query(try folder.map { try RelativePath($0) }, client: client, sender: sender)
        var (files, pages): ([KnownFile], Int) = ([], 0)
        var next: [UInt8]? = query.prefix
        while let start = next {
            let page = try catalog.files(query, after: start)
            files += page.files
            pages += 1
            next = page.next
        }
        return (files, pages)
    }

    @Test func onlyWhatIsInTheFolderItself() throws {
        let catalog = try CatalogFixture().open()
        let paths = [
            "d", "d-", "d/b", "d/a", "d/a.x", "d/a/deep", "d/a/deeper/x", "d/z", "d/\u{E9}", "d0", "d0/x", "e/a", "top",
        ]
        try catalog.record(paths.enumerated().map { Self.entry($1, UInt64($0)) })
        #expect(try all(catalog, "d").files.isEmpty)
        try catalog.index()
        #expect(try all(catalog, "d").files.map(\.name) == ["a", "a.x", "b", "z", "\u{E9}"])
        #expect(try all(catalog, "d/a").files.map(\.name) == ["deep"])
        #expect(try all(catalog, nil).files.map(\.name) == ["d", "d-", "d0", "top"])
        #expect(try all(catalog, "x").files.isEmpty)
        #expect(try all(catalog, "d/b").files.isEmpty)
    }

    @Test func everythingIsReadPageByPage() throws {
        let catalog = try CatalogFixture().open()
        let count = 1_500
        let names = (0..<count).map { "f\(10_000 + $0)" }
        try catalog.record(names.enumerated().map { Self.entry("d/\($1)", UInt64($0)) })
        // Folders between the files are skipped, however many files they contain.
        try catalog.record((0..<300).map { Self.entry("d/f10\($0 + 100)x/deep", UInt64(10_000 + $0)) })
        try catalog.index()
        let (files, pages) = try all(catalog, "d")
        #expect(files.map(\.name) == names && pages > 3)
        #expect(files.map(\.id.low) == (0..<UInt64(count)).map { $0 })
        #expect(files.allSatisfy { $0.version.object == $0.id.low && $0.function == .xxh128 && $0.isDurable })
    }

    /// The uploads of one file stay together, also at the end of a page, and a file with many uploads does not delay
    /// others.
    @Test func manyUploadsOfOneFile() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record((0..<500).map { Self.entry("d/a\(1_000 + $0)", UInt64($0)) })
        try catalog.record((0..<30).map { Self.entry("d/b", UInt64(1_000 + $0)) })
        try catalog.record((0..<3_000).map { Self.entry("d/c", UInt64(10_000 + $0)) })
        try catalog.record([Self.entry("d/d", 1)])
        try catalog.index()
        let query = KnownFiles.Query(try RelativePath("d"), client: nil, sender: "")
        let page = try catalog.files(query, after: query.prefix)
        #expect(page.files.filter { $0.name == "b" }.count == 30 && page.files.last?.name == "b")
        let (files, _) = try all(catalog, "d")
        #expect(files.filter { $0.name == "b" }.count == 30)
        // The newest of the many uploads of one file are known.
        #expect(Set(files.filter { $0.name == "c" }.map(\.id.low)) == Set(12_936..<13_000))
        #expect(files.last?.name == "d")
    }

    @Test func whoseTheyAre() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([
            Self.entry("d/a", 1, client: 5, sender: "laptop"), Self.entry("d/b", 2, client: 6, sender: "laptop"),
            Self.entry("d/c", 3, sender: "10.0.0.1"), Self.entry("d/d", 4, sender: "10.0.0.2"),
            Self.entry("d/e", 5, state: .alreadyStored, client: 5, sender: "x"),
        ])
        try catalog.index()
        #expect(
            try all(catalog, "d", client: 5, sender: "laptop").files.map(\.isOwn) == [true, false, false, false, true])
        #expect(
            try all(catalog, "d", client: nil, sender: "10.0.0.1").files.map(\.isOwn) == [
                false, false, true, false, false,
            ])
    }

    @Test func whatHasNoVersionIsLeftOut() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([Self.entry("d/a", 1, hasVersion: false), Self.entry("d/b", 2)])
        try catalog.index()
        #expect(try all(catalog, "d").files.map(\.name) == ["b"])
    }
}
