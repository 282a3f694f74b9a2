import Testing
import TransferModel

@testable import TransferClient

@Suite struct KnownFilesTests {
    private var known = KnownFiles()
    private let a = PathKey("a")

    @Test mutating func knowsAFileBySizeAndTime() {
        #expect(known.finds(a, look(1).known) == false)
        known.keep(a, look(1).known)
        #expect(known.finds(a, look(1).known) == true)
        #expect(known.finds(a, look(2).known) == false)
        #expect(known.finds(a, look(1, modified: 5).known) == false)
        #expect(known.finds(PathKey("b"), look(1).known) == false)
        known.keep(a, look(2).known)
        #expect(known.count == 1 && known[a] == look(2).known)
    }

    /// A memory card may give its files other inode numbers each time it is mounted.
    @Test mutating func inodesDontCount() {
        known.keep(a, look(1, inode: 1).known)
        #expect(known.finds(a, look(1, inode: 2).known) == true)
    }

    @Test mutating func forgetsWhatAScanHasNotFound() {
        for name in ["a", "b", "changed"] { known.keep(PathKey(name), look(1).known) }
        known.beginScan()
        #expect(known.finds(a, look(1).known) == true)
        #expect(known.finds(PathKey("changed"), look(2).known) == false)
        known.keep(PathKey("new"), look(1).known)
        known.forgetUnseen()
        #expect(Set(known.all.map(\.path.string)) == ["a", "new"])
    }
}
