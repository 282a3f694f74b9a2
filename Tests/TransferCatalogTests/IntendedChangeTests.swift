import Testing
import TransferDatabase
import TransferModel

@testable import TransferCatalog
import TransferPorts

/// The server has noted changes and died before it finished them: the next server compares them with the files.
@Suite(.overEachKindOfRecords) struct IntendedChangeTests {
    private struct Unreadable: Error {}

    private static func version(_ object: UInt64, touch: Int64 = 3, revision: Int64 = 2) -> ContentVersion {
        ContentVersion(object: object, revision: revision, touch: touch, size: 4)
    }

    private static func file(_ object: UInt64, touch: Int64 = 3, revision: Int64 = 2) -> FoundObject {
        FoundObject(.file, version(object, touch: touch, revision: revision))
    }

    private func entry(_ object: UInt64, _ path: String, committed: Int64 = 5) -> CatalogEntry {
        CatalogEntry(
            id: .random(), state: .committed, path: path, size: 4,
            digest: Digest(.xxh128, [UInt8](repeating: UInt8(object), count: 16)), begun: 1, committed: committed,
            version: Self.version(object))
    }

    private func resolve(_ catalog: any UploadRecords, _ there: [String: FoundObject]) throws -> Int {
        try catalog.resolveIntended { (path) throws(Unreadable) in there[path.string] }
    }

    /// The objects that are known at each path.
    private func known(_ catalog: any UploadRecords) throws -> [String: [UInt64]] {
        var known: [String: [UInt64]] = [:]
        try catalog.forEachEntry { known[$0.path, default: []].append($0.version?.object ?? 0) }
        return known.mapValues { $0.sorted() }
    }

    /// The place of the file after a kill or a power cut, and what the catalog has to know then.
    @Test(arguments: [
        (["a": file(1)], ["a": [1], "b": [2]]),
        (["a": file(1), "b": file(2)], ["a": [1], "b": [2]]),
        (["b": file(1, touch: 9)], ["b": [1]]),
        // Both names of one rename.
        (["a": file(1, touch: 9), "b": file(1, touch: 9)], ["a": [1], "b": [1]]),
        // A copy of the whole directory has other objects.
        (["b": file(77)], ["b": [1]]),
        (["a": file(76), "b": file(77)], ["a": [1], "b": [2]]),
        ([:], ["a": [1], "b": [2]]),
    ]) func aFileThatWasToBeMoved(there: [String: FoundObject], expected: [String: [UInt64]]) throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "a"), entry(2, "b")])
        _ = try catalog.intend([IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)])
        #expect(try resolve(catalog, there) == 1)
        #expect(try known(catalog) == expected)
        #expect(try catalog.intended().isEmpty)
        // Resolved a second time, as after a server that was killed before it removed the note.
        _ = try catalog.intend([IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)])
        _ = try resolve(catalog, there)
        #expect(try known(catalog) == expected)
    }

    /// A lookup after the rename finds only the new name, and a power cut brings the old name back beside it.
    @Test func anOldNameThatComesBackBesideTheNewOne() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "a")])
        _ = try catalog.intend([IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)])
        let file = Self.file(1, touch: 9)
        for there in [["b": file], ["a": file, "b": file], ["a": file, "b": file]] {
            _ = try catalog.resolveIntended(keepsNotes: true) { (path) throws(Unreadable) in there[path.string] }
            #expect(try known(catalog) == there.mapValues { [$0.version.object] })
        }
    }

    /// The names were not synced at the first lookup, and a power cut has brought the old name back.
    @Test(arguments: [false, true]) func aNameThatComesBack(isFolder: Bool) throws {
        let catalog = try CatalogFixture().open()
        let (path, target) = isFolder ? ("d/a", "n/a") : ("a", "b")
        try catalog.record([entry(1, path), entry(2, isFolder ? "x" : "b")])
        let change =
            isFolder
            ? IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)
            : IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)
        _ = try catalog.intend([change])
        let folder = FoundObject(.folder, Self.version(8))
        let moved = isFolder ? ["n": folder] : ["b": Self.file(1, touch: 9)]
        for _ in 0..<2 {
            _ = try catalog.resolveIntended(keepsNotes: true) { (path) throws(Unreadable) in moved[path.string] }
        }
        #expect(try catalog.intended().count == 1)
        #expect(try known(catalog)[target] == [1])
        _ = try resolve(catalog, isFolder ? ["d": folder] : ["a": Self.file(1), "b": Self.file(2)])
        #expect(try known(catalog)[path] == [1] && known(catalog)[target] != [1])
        #expect(try catalog.intended().isEmpty)
    }

    /// A file that a client stored at the old path meanwhile is another file.
    @Test func anUploadThatTookTheOldPath() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "a")])
        _ = try catalog.intend([IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)])
        try catalog.record([entry(3, "a", committed: 10)])
        _ = try resolve(catalog, ["a": Self.file(3), "b": Self.file(1, touch: 9)])
        #expect(try known(catalog) == ["a": [3], "b": [1]])
        #expect(try catalog.entries(at: ["b"])[0].first?.version?.touch == 9)
    }

    @Test func allThatIsInAFolder() throws {
        for isMoved in [false, true] {
            let catalog = try CatalogFixture().open()
            try catalog.record([entry(1, "d/a"), entry(2, "d/e/b"), entry(3, "d.x")])
            _ = try catalog.intend([IntendedChange(.folder, "d", to: "n/f", before: Self.version(8), at: 9)])
            let folder = FoundObject(.folder, ContentVersion(object: 8, revision: 7, touch: 7, size: 1))
            _ = try resolve(catalog, [isMoved ? "n/f" : "d": folder])
            #expect(
                try known(catalog)
                    == (isMoved ? ["n/f/a": [1], "n/f/e/b": [2], "d.x": [3]] : ["d/a": [1], "d/e/b": [2], "d.x": [3]]))
        }
    }

    /// An upload that was acknowledged between the note and the move was moved as well; a later one to the old path was
    /// not.
    @Test func whatArrivesBeforeItsFolderMoves() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "d/a")])
        _ = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)])
        try catalog.record(
            [(2, "d/b"), (3, "d/c"), (4, "d/e/f"), (5, "d.x")].map { entry($0, $1, committed: 10) })
        let folder = FoundObject(.folder, ContentVersion(object: 8, revision: 7, touch: 7, size: 1))
        let there = [
            "n": folder, "d": FoundObject(.folder, Self.version(9)), "n/b": Self.file(2), "d/c": Self.file(3),
            "n/c": Self.file(33), "n/e/f": Self.file(4), "n/x": Self.file(5),
        ]
        for _ in 0..<2 { _ = try resolve(catalog, there) }
        #expect(try known(catalog) == ["n/a": [1], "n/b": [2], "d/c": [3], "n/e/f": [4], "d.x": [5]])
        #expect(try catalog.intended().isEmpty)
    }

    /// A file that another process has removed is not a file of the folder that takes its place. Without the move, the
    /// file is still missing.
    @Test func whatWasKnownWhereAFolderComes() throws {
        let folder = FoundObject(.folder, ContentVersion(object: 8, revision: 7, touch: 7, size: 1))
        for isMoved in [false, true] {
            let catalog = try CatalogFixture().open()
            // The commit times may come from a clock that was ahead.
            try catalog.record([entry(1, "d/a", committed: 99), entry(2, "n/a"), entry(3, "n/b", committed: 98)])
            _ = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)])
            // An upload into the moved folder can be recorded before the note is resolved only if the server was killed
            // in between.
            if isMoved { try catalog.record([entry(4, "n/c", committed: 10)]) }
            for _ in 0..<2 { _ = try resolve(catalog, [isMoved ? "n" : "d": folder]) }
            #expect(
                try known(catalog) == (isMoved ? ["n/a": [1], "n/c": [4]] : ["d/a": [1], "n/a": [2], "n/b": [3]]))
        }
    }

    /// A folder that another process has made at the new path is not the moved folder.
    @Test func aFolderOfSomebodyElse() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "d/a")])
        _ = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)])
        let other = FoundObject(.folder, ContentVersion(object: 9, revision: 77, touch: 7, size: 1))
        _ = try resolve(catalog, ["n": other])
        #expect(try known(catalog) == ["d/a": [1]])
    }

    /// A change of attributes keeps the acknowledgement; a file that another process has written since is not the
    /// acknowledged one.
    @Test func otherAttributes() throws {
        for (found, touch) in [
            (Self.file(1, touch: 9), 9), (Self.file(1, touch: 9, revision: 50), 9),
            (Self.file(1, touch: 9, revision: 51), 3), (Self.file(4, touch: 9), 3),
        ] as [(FoundObject, Int64)] {
            let catalog = try CatalogFixture().open()
            try catalog.record([entry(1, "a")])
            _ = try catalog.intend([IntendedChange(.attributes, "a", before: Self.version(1), revision: 50, at: 9)])
            _ = try resolve(catalog, ["a": found])
            try catalog.index()
            #expect(try catalog.entries(at: ["a"])[0].map { $0.version?.touch } == [touch])
        }
    }

    @Test func aSecondNameAndWhatGaveWayToIt() throws {
        for isMade in [false, true] {
            let catalog = try CatalogFixture().open()
            try catalog.record([entry(1, "a"), entry(2, "h"), entry(3, "f")])
            _ = try catalog.intend([
                IntendedChange(.link, "a", to: "h", before: Self.version(1), at: 9),
                IntendedChange(.replacement, "f", before: Self.version(3), at: 9),
            ])
            let now = Self.file(1, touch: 9)
            _ = try resolve(catalog, isMade ? ["a": now, "h": now] : ["a": now, "h": Self.file(2), "f": Self.file(3)])
            #expect(
                try known(catalog) == (isMade ? ["a": [1], "h": [1]] : ["a": [1], "h": [2], "f": [3]]))
            #expect(try catalog.entries(at: ["a"])[0].first?.version?.touch == 9)
        }
    }

    /// If a path cannot be looked up, its note stays; an unreadable note is removed, whatever its number.
    @Test func whatCannotBeLookedAtStays() throws {
        let fixture = try CatalogFixture()
        let catalog = fixture.open()
        try catalog.record([entry(1, "a"), entry(2, "c")])
        _ = try catalog.intend([
            IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9),
            IntendedChange(.move, "c", to: "d", before: Self.version(2), at: 9),
        ])
        for number in [99, Int64.max] where !EachKindOfRecords.isMemory {
            try fixture.database().execute(
                "INSERT INTO intended VALUES (\(number), 77, 'x', 'y', 0, 0, 0, 0, NULL, 0, NULL, NULL)")
        }
        let resolved = try catalog.resolveIntended { (path) throws(Unreadable) in
            if path.string == "a" { throw Unreadable() }
            return path.string == "d" ? Self.file(2) : nil
        }
        #expect(resolved == 1)
        #expect(try catalog.intended().map(\.change?.path) == ["a"])
        #expect(try fixture.hasRows(1, in: "intended"))
        #expect(try known(catalog) == ["a": [1], "d": [2]])
        #expect(try resolve(catalog, ["b": Self.file(1)]) == 1)
        #expect(try known(catalog) == ["b": [1], "d": [2]])
        #expect(try fixture.hasRows(0, in: "intended") && catalog.intended().isEmpty)
    }

    /// Some notes of a batch stay. The others are removed, and their changes are applied.
    @Test func notesThatAreKept() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "a"), entry(2, "b"), entry(3, "c")])
        let noted = try catalog.intend(
            [("a", 1), ("b", 2), ("c", 3)].map { path, object in
                IntendedChange(.move, path, to: "x/\(path)", before: Self.version(object), at: 9)
            })
        #expect((0...3).map(noted.number(at:)) == [1, 2, 3, nil])
        try catalog.complete(noted.keeping([2]), KnownChanges())
        #expect(try catalog.intended().map(\.change?.path) == ["b"])
        try catalog.complete(noted.keepingAll, KnownChanges())
        #expect(try catalog.intended().count == 1)
        try catalog.complete(noted, KnownChanges())
        #expect(try catalog.intended().isEmpty)
    }

    /// A new row can have the number of a removed row, and a repeated upload has the ID that its first file had. Neither
    /// existed when the change was noted, whatever the clock says, so the change does not concern them. The first file
    /// is still known after its move.
    @Test(arguments: [false, true]) func whatArrivesBehindANote(hasSameID: Bool) throws {
        let catalog = try CatalogFixture().open()
        let first = entry(1, "a", committed: 20)
        try catalog.record([entry(7, "o"), first])
        let noted = try catalog.intend([IntendedChange(.move, "a", to: "b", before: Self.version(1), at: 9)])
        if !hasSameID { try catalog.forget(["a"]) }
        var second = entry(3, "a", committed: 30)
        if hasSameID { second.id = first.id }
        try catalog.record([second])
        var changes = KnownChanges()
        changes.moves = [PathMove("a", to: "b", object: 1, at: 9)]
        try catalog.complete(noted, changes)
        #expect(try known(catalog) == (hasSameID ? ["o": [7], "a": [3], "b": [1]] : ["o": [7], "a": [3]]))
        #expect(try catalog.entries(for: [second.id]).first??.path == "a")
    }

    /// Notes stay while names may not be durable, and each server resolves them again when it starts. A file that a
    /// later note has put at the old path of an earlier one stays there. If a power cut undoes both moves, the records
    /// return to the old paths.
    @Test(arguments: [false, true], [false, true])
    func notesThatAreSettledAgain(isFolder: Bool, isTakenBack: Bool) throws {
        let catalog = try CatalogFixture().open()
        let (old, new) = isFolder ? ("d/a", "n/a") : ("d", "n")
        try catalog.record([entry(1, old), entry(2, "x")])
        _ = try catalog.intend([
            IntendedChange(isFolder ? .folder : .move, "d", to: "n", before: Self.version(isFolder ? 8 : 1), at: 9),
            IntendedChange(.move, "x", to: old, before: Self.version(2), at: 9),
        ])
        var there = [new: Self.file(1), old: Self.file(2)]
        if isFolder {
            (there["n"], there["d"]) = (FoundObject(.folder, Self.version(8)), FoundObject(.folder, Self.version(9)))
        }
        for _ in 0..<3 {
            #expect(
                try catalog.resolveIntended(keepsNotes: true) { (path) throws(Unreadable) in there[path.string] } == 2)
            #expect(try known(catalog) == [new: [1], old: [2]])
        }
        if isTakenBack {
            let moved = there
            there = [old: Self.file(1), "x": Self.file(2)]
            if isFolder { there["d"] = FoundObject(.folder, Self.version(8)) }
            for there in [there, there, moved, there] {
                _ = try catalog.resolveIntended(keepsNotes: true) { (path) throws(Unreadable) in there[path.string] }
                #expect(try known(catalog) == (there == moved ? [new: [1], old: [2]] : [old: [1], "x": [2]]))
            }
        }
        #expect(try resolve(catalog, there) == 2)
        #expect(try known(catalog) == (isTakenBack ? [old: [1], "x": [2]] : [new: [1], old: [2]]))
    }

    /// An upload that was acknowledged before its folder moved, and recorded after the first lookup for the note, was
    /// moved as well.
    @Test func anUploadThatIsRecordedBehindTheFirstLook() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "d/a")])
        _ = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)])
        let there = ["n": FoundObject(.folder, Self.version(8)), "n/a": Self.file(1), "n/b": Self.file(2)]
        _ = try catalog.resolveIntended(keepsNotes: true) { (path) throws(Unreadable) in there[path.string] }
        try catalog.record([entry(2, "d/b")])
        #expect(try resolve(catalog, there) == 1)
        #expect(try known(catalog) == ["n/a": [1], "n/b": [2]])
    }

    /// The note of a folder concerns only that folder: an earlier note with equal paths does not apply to it.
    @Test func twoFoldersOfOnePath() throws {
        let catalog = try CatalogFixture().open()
        try catalog.record([entry(1, "d/a")])
        let earlier = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 9)])
        var changes = KnownChanges()
        changes.moves = [PathMove("d", to: "n", at: 9)]
        try catalog.complete(earlier, changes)
        _ = try catalog.intend([IntendedChange(.folder, "d", to: "n", before: Self.version(8), at: 10)])
        let later = try catalog.intend([IntendedChange(.folder, "n", to: "d", before: Self.version(8), at: 11)])
        changes.moves = [PathMove("n", to: "d", at: 11)]
        try catalog.complete(later, changes)
        #expect(try known(catalog) == ["d/a": [1]])
    }
}
