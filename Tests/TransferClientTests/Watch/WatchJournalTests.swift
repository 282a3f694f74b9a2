import CLinux
import Glibc
import Testing
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferClient

@Suite struct WatchJournalTests {
    private let directory: TemporaryDirectory
    private let path: String

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path("deep/er/journal")
    }

    private func keep(_ names: [String]) throws {
        let journal = try WatchJournal(path)
        try journal.keep(names.map { (path: PathKey($0), file: look(1).known) })
    }

    private var known: [String] {
        get throws { try WatchJournal(path).known.all.map(\.path.string).sorted() }
    }

    @Test func remembers() throws {
        #expect(try known == [])
        try keep(["a", "b/c"])
        try keep(["new\nline"])
        #expect(try known == ["a", "b/c", "new\nline"])
        #expect(try WatchJournal(path).finds(PathKey("a"), look(1).known))
        #expect(try !WatchJournal(path).finds(PathKey("a"), look(2).known))
    }

    /// Only the user who owns the journal may read it.
    @Test func isPrivate() throws {
        try keep(["a"])
        var status = stat()
        try Files.check(stat(path, &status), "stat")
        #expect(status.st_mode & 0o777 == 0o600)
    }

    /// If a file has several lines, the last one counts.
    @Test func theLatestHolds() throws {
        let journal = try WatchJournal(path)
        for size in 1...3 { try journal.keep([(path: PathKey("a"), file: look(size).known)]) }
        #expect(journal.known[PathKey("a")] == look(3).known)
    }

    @Test func whatIsKnownIsNotWrittenAgain() throws {
        try keep(["a"])
        let content = Files.read(path)
        try keep(["a"])
        #expect(Files.read(path) == content)
    }

    @Test func onlyOneHasIt() throws {
        let journal = try WatchJournal(path)
        #expect(throws: WatchJournal.Fault.taken) { try WatchJournal(path) }
        try journal.keep([(path: PathKey("a"), file: look(1).known)])
        withExtendedLifetime(journal) {}
    }

    /// While a child process starts, it briefly has a copy of the descriptor.
    @Test func aCopyOfTheDescriptorKeepsNoLock() throws {
        var journal: WatchJournal? = try WatchJournal(path)
        let copy = dup(try #require(journal).descriptor.number)
        #expect(copy >= 0)
        journal = nil
        #expect(try known == [])
        close(copy)
    }

    /// A kill or a full disk cuts the last line; the next entry begins a new line.
    @Test func theRestOfATornLineIsUnderstood() throws {
        try keep(["a", "b"])
        let whole = try #require(Files.read(path))
        for cut in 2...20 {
            try Files.write(path, Array(whole.dropLast(cut)))
            #expect(try known == ["a"])
            try keep(["c"])
            #expect(try known == ["a", "c"], "cut by \(cut)")
        }
    }

    @Test func damagedLinesAreForgotten() throws {
        try keep(["a", "b", "c"])
        var content = try #require(Files.read(path))
        let place = content.count / 2
        content[place] ^= 0x20
        try Files.write(path, content)
        #expect(try known.count == 2)
    }

    @Test(arguments: ["", "\n\n\n", "no journal\n", "transfer watch 2\n01234567 1 1 1 a\n", "\0\0\0\0"])
    func whatIsNoJournalIsBegunAnew(_ text: String) throws {
        try keep([])
        try Files.write(path, text)
        #expect(try known == [])
        try keep(["a"])
        #expect(try known == ["a"])
        #expect(try #require(Files.read(path)).starts(with: JournalLine.header))
    }

    /// The journal is a sparse file of this length.
    @Test func whatIsTooLongIsBegunAnew() throws {
        try keep(["a"])
        try Files.check(truncate(path, WatchJournal.longest + 1), "truncate")
        #expect(try known == [])
        #expect(try #require(Files.read(path)) == JournalLine.header)
    }

    @Test func isWrittenAnewWhenMostOfItSaysNothing() throws {
        let journal = try WatchJournal(path)
        for size in 1...1_100 { try journal.keep([(path: PathKey("a"), file: look(size).known)]) }
        let long = try #require(Files.read(path)).count
        journal.beginScan()
        #expect(journal.finds(PathKey("a"), look(1_100).known))
        try journal.endScan()
        let content = try #require(Files.read(path))
        #expect(content.count < long / 100)
        // The new journal is locked like the old one.
        #expect(throws: WatchJournal.Fault.taken) { try WatchJournal(path) }
        try journal.keep([(path: PathKey("b"), file: look(1).known)])
        #expect(journal.known.count == 2 && Files.read(path)?.starts(with: content) == true)
    }

    @Test func forgetsWhatIsGoneOnlyWhenThatIsMuch() throws {
        let journal = try WatchJournal(path)
        func scan(_ names: [String]) throws {
            journal.beginScan()
            for name in names { _ = journal.finds(PathKey(name), look(1).known) }
            try journal.endScan()
        }
        try journal.keep((0..<2_000).map { (path: PathKey("\($0)"), file: look(1).known) })
        try scan((0..<1_000).map { "\($0)" })
        #expect(journal.known.count == 2_000)
        try scan(["7"])
        #expect(journal.known.all.map(\.path.string) == ["7"])
    }

    /// While a card is unmounted, its mount point is empty; the card will come back.
    @Test func whatLeavesNothingForgetsNothing() throws {
        let journal = try WatchJournal(path)
        try journal.keep((0..<2_000).map { (path: PathKey("\($0)"), file: look(1).known) })
        journal.beginScan()
        try journal.endScan()
        #expect(journal.known.count == 2_000)
    }

    @Test func saysWhyItCannotBeKept() throws {
        try Files.write(directory.path("deep"), "a file")
        #expect(throws: WatchJournal.Fault.self) { try WatchJournal(path) }
    }
}
