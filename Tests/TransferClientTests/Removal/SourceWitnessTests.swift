import Glibc
import Testing
import TransferModel
import TransferTestSupport

@testable import TransferClient

@Suite struct SourceWitnessTests {
    private let home: TemporaryDirectory
    private let directory: SourceDirectory
    private let key = WitnessKey(in: nil)
    /// A name that the key has made for the directory.
    private let own: String

    init() throws {
        home = try TemporaryDirectory()
        try Files.write(home.path("a"), "content")
        directory = try SourceDirectory(home.path)
        own = ".transfer-witness-\(try key.makeNumber(in: directory))"
    }

    @Test func isASecondNameOfTheSource() throws {
        let witness = try SourceWitness(beside: "a", in: directory, key)
        #expect(SourceWitness.isName(witness.name))
        #expect(Files.read(home.path(witness.name)) == Array("content".utf8))
        try witness.remove()
        #expect(Files.tree(home.path) == ["a"])
        #expect(throws: (any Error).self) { try witness.remove() }
    }

    /// A directory cannot be linked, like files in file systems without hard links.
    @Test func isAnEmptyFileWhereNoLinkCanBeMade() throws {
        try Files.makeDirectory(home.path("d"))
        let witness = try SourceWitness(beside: "d", in: directory, key)
        #expect(Files.read(home.path(witness.name)) == [])
        try witness.remove()
    }

    @Test func noOtherNameIsTakenForOne() {
        let good = ".transfer-witness-0123456789abcdef0123456789abcdef"
        #expect(SourceWitness.isName(good))
        for name in ["a", "", ".transfer-witness-", good + "0", String(good.dropLast()), good.uppercased()] {
            #expect(!SourceWitness.isName(name), "\(name)")
        }
        #expect(SourceWitness.isName(good + "-a.jpg"))
    }

    /// The name for removal ends with the source's name, as far as it fits. No character is cut.
    @Test func whatIsTakenAwayTellsItsName() throws {
        func taken(_ name: String) throws -> String {
            let witness = try SourceWitness(beside: name, in: directory, isFile: false, key)
            try witness.remove()
            #expect(SourceWitness.isName(witness.takenName) && SourceWitness.isTaken(witness.takenName))
            #expect(!SourceWitness.isTaken(witness.name) && witness.takenName.utf8.count <= 255)
            return String(witness.takenName.dropFirst(witness.name.count + 1))
        }
        let fitting = String(repeating: "n", count: 204)
        for name in ["a b", fitting] { #expect(try taken(name) == name) }
        #expect(try taken(fitting + "n") == fitting)
        #expect(try taken(fitting.dropLast() + "é") == fitting.dropLast())
    }

    /// A push that was killed while it removed a source leaves the only name of the source, or of a file that another
    /// process has put in its place.
    @Test(arguments: [false, true]) func whatWasTakenAwayComesBack(isTaken: Bool) throws {
        let names = ["a", "l"].map { "\(own)-\($0)" }
        try Files.check(rename(home.path("a"), home.path(names[0])), "rename")
        try Files.check(symlink("nowhere", home.path(names[1])), "symlink")
        if isTaken { for name in ["a", "l"] { try Files.write(home.path(name), "other") } }
        for name in names { SourceWitness.sweep(name, in: directory, key, at: time(nil) + 30) }
        #expect(Files.tree(home.path) == names + (isTaken ? ["a", "l"] : []))
        for name in names { SourceWitness.sweep(name, in: directory, key, at: time(nil) + 62) }
        #expect(Files.tree(home.path) == (isTaken ? ["a", "a-1", "l", "l-1"] : ["a", "l"]))
        #expect(Files.read(home.path(isTaken ? "a-1" : "a")) == Array("content".utf8))
        if isTaken { #expect(Files.read(home.path("a")) == Array("other".utf8)) }
    }

    /// A recent witness stays, because another process may still need it. If its source is removed, an old witness is
    /// removed although it is the last name of the file.
    @Test(arguments: [false, true]) func onlyOldOnesAreSwept(isSourceGone: Bool) throws {
        let name = own
        try Files.check(link(home.path("a"), home.path(name)), "link")
        if isSourceGone { try Files.check(unlink(home.path("a")), "unlink") }
        let left = isSourceGone ? [] : ["a"]
        directory.sweep(key)
        SourceWitness.sweep(name, in: directory, key, at: time(nil) + 3_590)
        #expect(Files.tree(home.path) == [name] + left)
        let later = time(nil) + 3_602
        SourceWitness.sweep("a", in: directory, key, at: later)
        #expect(Files.tree(home.path) == [name] + left)
        SourceWitness.sweep(name, in: directory, key, at: later)
        #expect(Files.tree(home.path) == left)
    }

    /// Names of the same form stay if another user, another server or a key for another directory made them.
    @Test func whatOthersHaveNamedStays() throws {
        try Files.makeDirectory(home.path("d"))
        let elsewhere = try key.makeNumber(in: SourceDirectory(home.path("d")))
        let others = [
            "0123456789abcdef0123456789abcdef", "\(elsewhere)", "\(try WitnessKey(in: nil).makeNumber(in: directory))",
        ].flatMap { [".transfer-witness-\($0)", ".transfer-witness-\($0)-.bashrc"] }
        for name in others { try Files.write(home.path(name), "x") }
        for name in others { #expect(SourceWitness.sweep(name, in: directory, key, at: time(nil) + 10_000) == nil) }
        #expect(Files.tree(home.path) == (others + ["a"]).sorted())
    }

    /// Another process of the same user recognises the names. A key file that others can read is not used.
    @Test func theKeyIsKept() throws {
        let folder = home.path("own")
        let first = WitnessKey(in: folder)
        let number = try first.makeNumber(in: directory)
        #expect(first.hasMade(number, in: directory) && WitnessKey(in: folder).hasMade(number, in: directory))
        #expect(!WitnessKey(in: nil).hasMade(number, in: directory))
        try Files.check(chmod("\(folder)/removals.key", 0o644), "chmod")
        #expect(!WitnessKey(in: folder).hasMade(number, in: directory))
    }

    private func witness(_ source: String) -> String { "\(own)-\(source)" }

    /// Makes a file and a link as renamed before removal, and two witnesses that are no longer needed.
    private func strand() throws {
        try Files.write(home.path("b"), "other")
        let witnesses = try (0..<2).map { _ in ".transfer-witness-\(try key.makeNumber(in: directory))" }
        try Files.check(link(home.path("b"), home.path(witnesses[0])), "link")
        try Files.write(home.path(witnesses[1]), "the only name")
        try Files.check(rename(home.path("a"), home.path(witness("a"))), "rename")
        try Files.check(symlink("nowhere", home.path(witness("l"))), "symlink")
    }

    private func found(_ walk: consuming DirectoryWalk) -> [String] {
        var lines: [String] = []
        while let found = walk.next() {
            switch found {
            case .file(_, let relative): lines.append("file \(relative)")
            case .link(_, let relative): lines.append("link \(relative)")
            case .skipped(_, let relative, let failure): lines.append("\(failure.code) \(relative)")
            }
        }
        return lines.sorted()
    }

    /// Entries whose only name is that of a removal are reported whatever the rules say, also when links are sent.
    @Test(arguments: [false, true]) func whatHasNoOtherNameIsTold(excludes: Bool) throws {
        try strand()
        var selection = Selection()
        if excludes { selection.rules = [try PathRule(.exclude, "*")] }
        let told = ["a", "l"].map { "sourceSkipped in/\(witness($0))" }
        for sweep in [nil, WitnessSweep(key: key)] {
            let walk = DirectoryWalk(
                SourcePlace(try SourceRoot(home.path)), relative: "in", selection: selection, WalkFilter(selection),
                findsLinks: true,
                sweep: sweep, visit: nil)
            #expect(found(walk) == (excludes ? told : ["file in/b"] + told))
        }
        #expect(Files.tree(home.path).count == 5)
        let reports = UploadFeed([.path(home.path)], folder: "", selection: selection, sweeps: key)
        var results: [ResultCode] = []
        while let item = reports.next() { if case .report(let report) = item { results.append(report.result) } }
        #expect(results == [.sourceSkipped, .sourceSkipped])
    }

    /// The walk that gives an entry its name back also finds it and applies the rules to that name.
    @Test func aWalkGivesOldOnesTheirNameBack() throws {
        try strand()
        var selection = Selection()
        selection.rules = [try PathRule(.exclude, "l")]
        let walk = DirectoryWalk(
            SourcePlace(try SourceRoot(home.path)), relative: "in", selection: selection, WalkFilter(selection),
            findsLinks: true,
            sweep: WitnessSweep(key: key, time: time(nil) + 3_602), visit: nil)
        #expect(found(walk) == ["file in/a", "file in/b"])
        #expect(Files.tree(home.path) == ["a", "b", "l"])
    }

    /// A witness that a killed push left is not sent by the next push.
    @Test func noneIsSent() throws {
        try Files.check(link(home.path("a"), home.path(own)), "link")
        var walk = DirectoryWalk(SourcePlace(try SourceRoot(home.path)), relative: "in")
        var found: [String] = []
        while let item = walk.next() { if case .file(_, let relative) = item { found.append(relative) } }
        #expect(found == ["in/a"])
    }
}
