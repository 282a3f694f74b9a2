import CLinux
import Glibc
import Testing
import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferTestSupport

@testable import TransferClient

@Suite struct SyncTreeTests {
    /// All entries below a directory, as a scan finds them.
    private func entries(_ top: String) throws -> [SyncEntry] {
        var scan = LocalScan(try LocalTree(path: top), at: try SourceRoot(top), isSource: true, SyncFilter(Selection()))
        return try scan.run().0.entries
    }

    @Test func eachFolderIsBeforeWhatIsInIt() throws {
        let here = try TemporaryDirectory()
        for path in ["b/y", "b/x/z", "a", "b-c"] { try Files.write(here.path("t/\(path)"), [1]) }
        let tree = SyncTree(top: nil, try entries(here.path("t")).shuffled())
        #expect(tree.entries.map(\.path.string) == ["a", "b", "b/x", "b/x/z", "b/y", "b-c"])
        let folder = try RelativePath("b")
        #expect(tree.entries(below: folder).map(\.path.string) == ["b/x", "b/x/z", "b/y"])
        #expect(tree.entries(below: try RelativePath("a")).isEmpty)
    }

    /// Some file systems list a name twice.
    @Test func aNameThatIsToldTwiceCountsOnce() throws {
        let here = try TemporaryDirectory()
        try Files.write(here.path("t/d/x"), [1])
        let once = try entries(here.path("t"))
        let tree = SyncTree(top: nil, once + once + once)
        #expect(tree.entries.map(\.path.string) == ["d", "d/x"])
    }

    /// Bytes that sort before and after the slash, names that are prefixes of others, multi-byte letters, and both
    /// spellings of one letter.
    private static let names = [
        "a", "a!", "a-", "a.", "a0", "aa", "b", "\u{E9}", "e\u{301}", "\u{1}", "a b", "abcdefgh", "abcdefghi",
    ]

    private func entry(_ path: String, _ form: ListedEntry.Form) throws -> SyncEntry {
        SyncEntry(
            try RelativePath(path),
            ListedEntry(
                form, name: "", size: 0, modified: Timestamp(seconds: 0, nanoseconds: 0), permissions: 0o644))
    }

    /// A tree of two levels of folders with each name in each of them.
    private func deepTree() throws -> [SyncEntry] {
        try Self.names.flatMap { top in
            try [entry(top, .directory)]
                + Self.names.flatMap { folder in
                    try [entry("\(top)/\(folder)", .directory)]
                        + Self.names.map { try entry("\(top)/\(folder)/\($0)", .file) }
                }
        }
    }

    /// Entries are sorted by the names in each folder, compared by bytes.
    @Test func theOrderIsThatOfTheNames() throws {
        let entries = try deepTree()
        let tree = SyncTree(top: nil, entries.shuffled())
        let expected = entries.map { Array($0.path.string.utf8) }.sorted { one, other in
            let (one, other) = (one.split(separator: 0x2F), other.split(separator: 0x2F))
            for (name, second) in zip(one, other) where !name.elementsEqual(second) {
                return name.lexicographicallyPrecedes(second)
            }
            return one.count < other.count
        }
        #expect(tree.entries.map { Array($0.path.string.utf8) } == expected)
    }

    @Test func whatIsInATreeIsFound() throws {
        let entries = try deepTree()
        let tree = SyncTree(top: nil, entries.shuffled())
        #expect(entries.allSatisfy { tree[$0.path] === $0 })
        for absent in ["0", "a/", "a/a/a/a", "a\u{301}", "zz", "abcdefg"] {
            if let path = try? RelativePath(absent) { #expect(tree[path] == nil, "\(absent)") }
        }
        for folder in ["a", "a/b", "e\u{301}", "abcdefgh/abcdefghi"] {
            let below = tree.entries(below: try RelativePath(folder))
            let expected = tree.entries.filter { $0.path.string.utf8.starts(with: "\(folder)/".utf8) }
            #expect(below.map(\.path) == expected.map(\.path) && !below.isEmpty)
        }
        #expect(SyncTree(top: nil)[try RelativePath("a")] == nil)
    }

    @Test func pathsOfTwoTreesComeTogether() throws {
        let entries = try deepTree()
        let (ours, theirs) = (entries.filter { _ in .random() }, entries.filter { _ in .random() })
        let (source, target) = (SyncTree(top: nil, ours), SyncTree(top: nil, theirs))
        var (ofSource, ofTarget): ([SyncEntry], [SyncEntry]) = ([], [])
        SyncTree.forEach(source, target) { one, other in
            if let one, let other { #expect(one.path == other.path) }
            if let one, other == nil { #expect(target[one.path] == nil) }
            if let other, one == nil { #expect(source[other.path] == nil) }
            ofSource += one.map { [$0] } ?? []
            ofTarget += other.map { [$0] } ?? []
        }
        #expect(ofSource.map(\.path) == source.entries.map(\.path))
        #expect(ofTarget.map(\.path) == target.entries.map(\.path))
    }
}
