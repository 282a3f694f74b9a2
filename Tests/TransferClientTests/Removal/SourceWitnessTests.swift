import Glibc
import Testing
import TransferTestSupport

@testable import TransferClient

@Suite struct SourceWitnessTests {
    private let home: TemporaryDirectory
    private let directory: SourceDirectory

    init() throws {
        home = try TemporaryDirectory()
        try Files.write(home.path("a"), "content")
        directory = try SourceDirectory(home.path)
    }

    @Test func isASecondNameOfTheSource() throws {
        let witness = try SourceWitness(beside: "a", in: directory)
        #expect(SourceWitness.isName(witness.name))
        #expect(Files.read(home.path(witness.name)) == Array("content".utf8))
        try witness.remove()
        #expect(Files.tree(home.path) == ["a"])
        #expect(throws: (any Error).self) { try witness.remove() }
    }

    /// As in file systems without links.
    @Test func isAnEmptyFileWhereNoLinkCanBeMade() throws {
        try Files.makeDirectory(home.path("d"))
        let witness = try SourceWitness(beside: "d", in: directory)
        #expect(Files.read(home.path(witness.name)) == [])
        try witness.remove()
    }

    @Test func noOtherNameIsTakenForOne() {
        let good = ".transfer-witness-0123456789abcdef0123456789abcdef"
        #expect(SourceWitness.isName(good))
        for name in ["a", "", ".transfer-witness-", good + "0", String(good.dropLast()), good.uppercased()] {
            #expect(!SourceWitness.isName(name), "\(name)")
        }
    }

    /// One that somebody else may wait for stays, and what is the only name of some content.
    @Test func onlyOldOnesAreSwept() throws {
        let name = ".transfer-witness-0123456789abcdef0123456789abcdef"
        try Files.check(link(home.path("a"), home.path(name)), "link")
        directory.sweep()
        #expect(Files.tree(home.path) == [name, "a"])
        let later = time(nil) + 3_602
        try Files.check(unlink(home.path("a")), "unlink")
        SourceWitness.sweep(name, in: directory, at: later)
        #expect(Files.tree(home.path) == [name])
        try Files.check(link(home.path(name), home.path("a")), "link")
        SourceWitness.sweep("a", in: directory, at: later)
        #expect(Files.tree(home.path) == [name, "a"])
        SourceWitness.sweep(name, in: directory, at: later)
        #expect(Files.tree(home.path) == ["a"])
    }

    /// What is left of a push that was killed is not sent by the next.
    @Test func noneIsSent() throws {
        try Files.check(link(home.path("a"), home.path(".transfer-witness-0123456789abcdef0123456789abcdef")), "link")
        var walk = DirectoryWalk(path: home.path, relative: "in")
        var found: [String] = []
        while let item = walk.next() { if case .file(_, let relative) = item { found.append(relative) } }
        #expect(found == ["in/a"])
    }
}
