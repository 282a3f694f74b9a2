import CLinux
import Glibc
import Testing
import TransferModel
import TransferStore
import TransferTestSupport

@testable import TransferClient

@Suite struct SyncTreeTests {
    /// All that is in a directory, as a scan finds it.
    private func entries(_ top: String) throws -> [SyncEntry] {
        var scan = LocalScan(try LocalTree(path: top), at: top, isSource: true, SyncFilter(Selection()))
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

    /// Some file systems tell a name twice.
    @Test func aNameThatIsToldTwiceCountsOnce() throws {
        let here = try TemporaryDirectory()
        try Files.write(here.path("t/d/x"), [1])
        let once = try entries(here.path("t"))
        let tree = SyncTree(top: nil, once + once + once)
        #expect(tree.entries.map(\.path.string) == ["d", "d/x"])
    }
}
