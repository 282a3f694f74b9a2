import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// A command replaces no file that it has stored or moved itself.
@Suite struct CommandFilesTests {
    private static let two = Array("two".utf8)

    private let fixture: StoreFixture

    init() throws {
        fixture = try StoreFixture()
    }

    private func outcome(
        _ path: String, _ content: [UInt8], _ command: StoringCommand
    ) throws -> Result<PublicationOutcome, Failure> {
        var publication = try fixture.publication(path, content, .overwrite)
        publication.command = command
        return fixture.publish([publication])[0]
    }

    private func isRefused(_ outcome: Result<PublicationOutcome, Failure>) -> Bool {
        if case .failure(let error) = outcome { error.code == .pathConflict } else { false }
    }

    /// Simulates a file system that ignores case: a file stored under one name is found under the other.
    private func respell(_ path: String, as other: String) throws {
        #expect(rename(fixture.path(path), fixture.path(other)) == 0)
    }

    @Test(arguments: [false, true]) func whatTheCommandHasStoredStays(mayRepeat: Bool) throws {
        let command = StoringCommand(id: 1, mayRepeat: mayRepeat)
        #expect(try outcome("A", .one, command) == .success(try .committed("A")))
        try respell("A", as: "a")
        #expect(isRefused(try outcome("a", Self.two, command)))
        #expect(Files.read(fixture.path("a")) == .one && fixture.parts.isEmpty)
        // The existing file has the content already.
        #expect(try outcome("a", .one, command) == .success(try .alreadyStored("a")))
    }

    /// A client that lost the answer may send the path again with changed content. Files of a form or of a fetch are
    /// never sent twice.
    @Test func underTheSamePathOnlyWhereItMayComeAgain() throws {
        for mayRepeat in [true, false] {
            let command = StoringCommand(id: mayRepeat ? 1 : 2, mayRepeat: mayRepeat)
            _ = try outcome("\(mayRepeat)", .one, command)
            let again = try outcome("\(mayRepeat)", Self.two, command)
            #expect(isRefused(again) == !mayRepeat)
            #expect(Files.read(fixture.path("\(mayRepeat)")) == (mayRepeat ? Self.two : .one))
        }
    }

    /// The existing file was acknowledged to this command, so the command does not replace it either.
    @Test func whatWasThereAlready() throws {
        try fixture.publish("a", .one)
        let command = StoringCommand(id: 1)
        #expect(try outcome("a", .one, command) == .success(try .alreadyStored("a")))
        #expect(isRefused(try outcome("a", Self.two, command)))
    }

    @Test func anotherCommandReplacesIt() throws {
        _ = try outcome("a", .one, StoringCommand(id: 1))
        #expect(try outcome("a", Self.two, StoringCommand(id: 2)) == .success(try .committed("a")))
        #expect(try outcome("a", .one, StoringCommand(id: 1)) == .success(try .committed("a")))
    }

    /// Another process has written to the file since.
    @Test func whatOthersHaveChangedIsReplaced() throws {
        let command = StoringCommand(id: 1)
        _ = try outcome("a", .one, command)
        try Files.write(Array("other content".utf8), to: fixture.path("a"))
        #expect(try outcome("a", Self.two, command) == .success(try .committed("a")))
    }

    /// Two files of one batch have the same path.
    @Test func inOneBatch() throws {
        let command = StoringCommand(id: 1)
        let batch = try [[UInt8].one, Self.two].map { content in
            var publication = try fixture.publication("a", content, .overwrite)
            publication.command = command
            return publication
        }
        let outcomes = fixture.publish(batch)
        #expect(outcomes[0] == .success(try .committed("a")) && isRefused(outcomes[1]))
        #expect(Files.read(fixture.path("a")) == .one)
    }

    @Test func movesOfOneCommand() throws {
        for name in ["p", "q", "r"] { try fixture.publish(name, Array(name.utf8)) }
        func move(_ path: String, _ command: StoringCommand) throws {
            let editor = fixture.store.editor(for: command)
            _ = try editor.move(try RelativePath(path), to: try RelativePath("t"), replaces: true)
            try editor.commit()
        }
        try move("p", StoringCommand(id: 1))
        let error = #expect(throws: Failure.self) { try move("q", StoringCommand(id: 1)) }
        #expect(error?.code == .pathConflict)
        #expect(Files.read(fixture.path("t")) == Array("p".utf8))
        #expect(Files.read(fixture.path("q")) == Array("q".utf8))
        try move("r", StoringCommand(id: 2))
        #expect(Files.read(fixture.path("t")) == Array("r".utf8))
    }

    /// A tree has a file and a link, or a file and a folder, whose names are equal to the file system.
    @Test func linksAndFoldersOfOneCommand() throws {
        let (command, path) = (StoringCommand(id: 1), try RelativePath("a"))
        _ = try outcome("a", .one, command)
        try fixture.publish("b", Self.two)
        let makings: [(TreeEditor) throws -> Void] = [
            { try $0.makeLink(path, to: [0x78], replaces: true) }, { try $0.makeDirectory(path, replaces: true) },
            { _ = try $0.makeHardLink(path, to: try RelativePath("b"), replaces: true) },
        ]
        for make in makings {
            let error = #expect(throws: Failure.self) { try make(fixture.store.editor(for: command)) }
            #expect(error?.code == .pathConflict && Files.read(fixture.path("a")) == .one)
        }
        #expect(fixture.parts.isEmpty)
        let editor = fixture.store.editor(for: StoringCommand(id: 2))
        try editor.makeLink(path, to: [0x78], replaces: true)
        try editor.commit()
        #expect(Files.read(fixture.path("a")) != .one)
    }

    /// Files that were stored long ago are forgotten, so memory is bounded.
    @Test func thereIsABound() throws {
        var files = CommandFiles()
        let (command, path) = (StoringCommand(id: 1), try RelativePath("a"))
        func version(_ object: Int) -> ContentVersion {
            ContentVersion(object: UInt64(object), revision: 1, touch: 1, size: 1)
        }
        for object in 0..<70_000 { files.add(version(object), of: command, at: path) }
        #expect(try files.check(version(0), hasOtherNames: false, command, path) == nil)
        #expect(throws: Failure.ownFile(path)) { try files.check(version(69_999), hasOtherNames: false, command, path) }
        // Each path has almost 4 KiB: a thousand of them fill a generation.
        let long = try RelativePath(
            Array(repeating: String(repeating: "x", count: 255), count: 15).joined(separator: "/"))
        for object in 0..<2200 { files.add(version(100_000 + object), of: command, at: long) }
        #expect(try files.check(version(100_000), hasOtherNames: false, command, long) == nil)
        #expect(throws: Failure.ownFile(long)) {
            try files.check(version(102_199), hasOtherNames: false, command, long)
        }
    }

    /// Both names belong to one object, and the other name is kept.
    @Test(arguments: [false, true]) func anotherNameOfAFileIsReplaced(isMade: Bool) throws {
        try fixture.publish("a", .one)
        #expect(link(fixture.path("a"), fixture.path("b")) == 0)
        let command = StoringCommand(id: 1, mayRepeat: true)
        #expect(try outcome("a", .one, command) == .success(try .alreadyStored("a")))
        if isMade {
            let editor = fixture.store.editor(for: command)
            try fixture.publish("c", Self.two)
            _ = try editor.makeHardLink(try RelativePath("b"), to: try RelativePath("c"), replaces: true)
            try editor.commit()
        } else {
            #expect(try outcome("b", Self.two, command) == .success(try .committed("b")))
        }
        #expect(Files.read(fixture.path("a")) == .one && Files.read(fixture.path("b")) == Self.two)
        #expect(isRefused(try outcome("a", Self.two, StoringCommand(id: 1))))
    }

    /// The file was moved since and has a second name for another reason, for example in the trash.
    @Test func whatHasMovedIsNotReplaced() throws {
        let command = StoringCommand(id: 1, mayRepeat: true)
        _ = try outcome("a", .one, command)
        try respell("a", as: "b")
        #expect(link(fixture.path("b"), fixture.path("c")) == 0)
        #expect(isRefused(try outcome("b", Self.two, command)))
        #expect(Files.read(fixture.path("b")) == .one)
    }

    /// All names that the command has given to one file stay, also when they are spelled in another way.
    @Test func otherNamesOfTheCommandStay() throws {
        let command = StoringCommand(id: 1, mayRepeat: true)
        _ = try outcome("a", .one, command)
        let editor = fixture.store.editor(for: command)
        for name in ["b", "c"] {
            _ = try editor.makeHardLink(try RelativePath(name), to: try RelativePath("a"), replaces: true)
        }
        try editor.commit()
        // The first name stays as it is until the others were looked at.
        for name in ["c", "b", "a"] {
            let other = name.uppercased()
            try respell(name, as: other)
            #expect(isRefused(try outcome(other, Self.two, command)))
            #expect(Files.read(fixture.path(other)) == .one)
        }
    }

    @Test(arguments: [
        ("a", "A"), ("Straße", "STRASSE"), ("é", "E\u{301}"), ("ς", "Σ"), ("mark", "\u{feff}ma\u{200d}rk"),
        ("d/é", "D/É"),
    ])
    func whatMayBeOneNameIsTakenForOne(_ one: String, _ other: String) throws {
        let (command, file) = (
            StoringCommand(id: 1, mayRepeat: true), ContentVersion(object: 1, revision: 1, touch: 1, size: 1)
        )
        var files = CommandFiles()
        files.add(file, of: command, at: try RelativePath(one))
        let respelled = try RelativePath(other)
        #expect(throws: Failure.ownFile(respelled)) {
            try files.check(file, hasOtherNames: true, command, respelled)
        }
        let first = try RelativePath(one)
        #expect(try files.check(file, hasOtherNames: true, command, try RelativePath("\(other)2")) == first)
        #expect(try files.check(file, hasOtherNames: true, command, first) == nil)
    }

    /// A file stays protected for the first command although a second command has found the same file and was
    /// acknowledged.
    @Test func whatAnotherCommandHasFoundThereStays() throws {
        let (first, second) = (StoringCommand(id: 1), StoringCommand(id: 2))
        _ = try outcome("a", .one, first)
        #expect(try outcome("a", .one, second) == .success(try .alreadyStored("a")))
        #expect(isRefused(try outcome("a", Self.two, first)))
        #expect(isRefused(try outcome("a", Self.two, second)))
        #expect(Files.read(fixture.path("a")) == .one)
    }
}
