import CLinux
import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferCodec
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// A file that an upload replaces is durable in the trash before it loses its name.
@Suite struct ReplacedFilesTests {
    private static let disk = FileSystem(isMemory: false, syncsAsAWhole: true)

    /// Trash batches have consecutive numbers.
    private static func part() -> OpenTrashBatch {
        let count = Atomic<UInt32>(0)
        return OpenTrashBatch(utc: { 0 }) { _ in
            TrashBatch(at: 0, number: count.wrappingAdd(1, ordering: .relaxed).newValue)
        }
    }

    private func place(_ number: UInt32, _ path: String) throws -> String {
        RelativePath.trash(TrashBatch(at: 0, number: number), try RelativePath(path)).string
    }

    private func publication(
        _ fixture: StoreFixture, _ path: String, _ content: [UInt8], _ part: OpenTrashBatch?,
        _ conflict: ConflictPolicy = .overwrite
    ) throws -> Publication {
        var publication = try fixture.publication(path, content, conflict)
        publication.trash = part
        return publication
    }

    @discardableResult
    private func publish(
        _ fixture: StoreFixture, _ path: String, _ content: [UInt8], _ part: OpenTrashBatch?,
        _ conflict: ConflictPolicy = .overwrite
    ) throws -> KeptFile? {
        let publication = try publication(fixture, path, content, part, conflict)
        _ = try fixture.publish([publication])[0].get()
        return publication.content.kept
    }

    /// All files in the trash, without folders.
    private func trash(_ fixture: StoreFixture) -> Set<String> {
        Files.tree(fixture.path(".transfer")).filter { $0.hasPrefix("trash/") && !$0.hasSuffix("/") }
    }

    @Test(arguments: ["a", "d/e/a"]) func whatIsOverwrittenIsInTheTrashAsItWas(_ path: String) throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish(path, .one)
        let old = try #require(Files.status(fixture.path(path)))
        let kept = try #require(try publish(fixture, path, .six, part))
        #expect(Files.read(fixture.path(path)) == .six)
        #expect(try kept.place.string == place(1, path))
        let now = try #require(Files.status(fixture.path(kept.place.string)))
        #expect(now.st_ino == old.st_ino && now.st_nlink == 1)
        #expect(kept.version == KeptFile.Versions(before: ContentVersion(old), after: ContentVersion(now)))
        #expect(Files.read(fixture.path(kept.place.string)) == .one)
        #expect(fixture.parts.isEmpty)
    }

    /// A user who may not read a file at its path may not read it in the trash either, whether it was replaced or
    /// removed.
    @Test(arguments: [false, true]) func foldersOfTheTrashHaveTheRightsOfThoseThatTheyStandFor(removes: Bool) throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("d/e/a", .one)
        chmod(fixture.path("d"), 0o700)
        chmod(fixture.path("d/e"), 0o750)
        if removes {
            let editor = fixture.store.editor()
            let place = RelativePath.trash(TrashBatch(at: 0, number: 1), try RelativePath("d/e/a"))
            _ = try editor.move(try RelativePath("d/e/a"), to: place, replaces: false)
            try editor.commit()
        } else {
            try publish(fixture, "d/e/a", .six, part)
        }
        for folder in [.trashFolder, RelativePath.trash(TrashBatch(at: 0, number: 1), nil)] {
            #expect(Files.mode(fixture.path(folder.string)) == 0o700)
        }
        #expect(Files.mode(fixture.path(try place(1, "d"))) == 0o700)
        #expect(Files.mode(fixture.path(try place(1, "d/e"))) == 0o750)
        #expect(Files.read(fixture.path(try place(1, "d/e/a"))) == .one)
    }

    /// A second name, even a short-lived one, would invalidate earlier acknowledgements of the file.
    @Test func whatHasTheSameContentIsNotTouched() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let old = fixture.store.version(at: try RelativePath("a"))
        #expect(try publish(fixture, "a", .one, part) == nil)
        #expect(fixture.store.version(at: try RelativePath("a")) == old)
        #expect(trash(fixture) == [])
    }

    @Test func contentOfTheSameSizeIsKept() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let kept = try #require(try publish(fixture, "a", .two, part))
        #expect(Files.read(fixture.path(kept.place.string)) == .one)
    }

    @Test func nothingIsKeptWithoutATrashNorByThoseWhoReplaceNothing() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let old = fixture.store.version(at: try RelativePath("a"))
        #expect(try publish(fixture, "a", .six, part, .keepBoth) == nil)
        #expect(try publish(fixture, "a", .six, part, .skip) == nil)
        #expect(throws: Failure.self) { try publish(fixture, "a", .six, part, .fail) }
        #expect(fixture.store.version(at: try RelativePath("a")) == old)
        #expect(try publish(fixture, "a", .six, nil) == nil)
        #expect(trash(fixture) == [] && Files.names(fixture.path(".transfer/trash")) == [])
    }

    /// Each version has a separate trash batch, also within one batch of uploads.
    @Test func whatIsReplacedTwiceIsKeptTwice() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        try publish(fixture, "a", .two, part)
        let batch = [
            try publication(fixture, "a", .six, part), try publication(fixture, "a", [UInt8](text: "9"), part),
        ]
        for outcome in fixture.publish(batch) { _ = try outcome.get() }
        #expect(Files.read(fixture.path("a")) == [UInt8](text: "9"))
        #expect(try trash(fixture) == Set((1...3).map { try String(place(UInt32($0), "a").dropFirst(10)) }))
        #expect(Files.read(fixture.path(try place(1, "a"))) == .one)
        #expect(Files.read(fixture.path(try place(2, "a"))) == .two)
        #expect(Files.read(fixture.path(try place(3, "a"))) == .six)
    }

    @Test func aSymbolicLinkIsKeptAsOne() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try Files.makeSymlink(fixture.path("a"), to: "elsewhere")
        let kept = try #require(try publish(fixture, "a", .six, part))
        #expect(kept.version == nil)
        #expect(Files.type(fixture.path(kept.place.string)) == S_IFLNK)
        #expect(Files.type(fixture.path("a")) == S_IFREG)
    }

    /// A FIFO has no content that could be restored.
    @Test func aPipeIsReplacedAndNotKept() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        #expect(mkfifo(fixture.path("a"), 0o600) == 0)
        #expect(try publish(fixture, "a", .six, part) == nil)
        #expect(Files.read(fixture.path("a")) == .six && trash(fixture) == [])
    }

    /// If the file system has no hard links, or refuses one for this file, the old file is moved at the last moment.
    @Test(arguments: [EPERM, EOPNOTSUPP, EMLINK, ENOSYS]) func whatCannotBeLinkedIsMoved(_ code: Int32) throws {
        let (script, part) = (ScriptedDisk(), Self.part())
        let fixture = try StoreFixture(fileSystem: Self.disk, script: script, before: ["a": .one])
        script.start()
        script.fail("linkName", with: code)
        let kept = try #require(try publish(fixture, "a", .six, part))
        #expect(script.failed == ["linkName"])
        #expect(Files.read(fixture.path("a")) == .six)
        #expect(Files.read(fixture.path(kept.place.string)) == .one)
        #expect(kept.version?.before.object == kept.version?.after.object)
    }

    /// The new file could not take the name, so the old file gets it back.
    @Test func whatWasMovedComesBackWhereNothingTakesItsPlace() throws {
        let (script, part) = (ScriptedDisk(), Self.part())
        let fixture = try StoreFixture(fileSystem: Self.disk, script: script, before: ["a": .one])
        let moves = Atomic(0)
        let disk = Disk(interception: { call, body in
            if case .linkName = call { return -Int(EPERM) }
            if case .rename(_, _, _, "a", true) = call, moves.wrappingAdd(1, ordering: .relaxed).newValue == 1 {
                return -Int(EIO)
            }
            return body()
        })
        let other = try fixture.restarted(on: disk)
        #expect(throws: Failure.self) { try publish(other, "a", .six, part) }
        #expect(Files.read(other.path("a")) == .one)
        #expect(trash(other) == [])
    }

    /// A file that cannot be kept for these reasons is replaced all the same, and the outcome does not say that it was
    /// kept.
    @Test(arguments: [EXDEV, ENAMETOOLONG]) func whatCannotBeKeptIsReplaced(_ code: Int32) throws {
        let (script, part) = (ScriptedDisk(), Self.part())
        let fixture = try StoreFixture(fileSystem: Self.disk, script: script, before: ["a": .one])
        script.start()
        script.fail("linkName", with: code)
        #expect(try publish(fixture, "a", .six, part) == nil)
        #expect(Files.read(fixture.path("a")) == .six)
        #expect(trash(fixture) == [])
    }

    /// If there is no room for the name in the trash, the upload fails: the content that the trash has to keep would
    /// otherwise be lost.
    @Test func whereThereIsNoRoomForTheNameNothingIsReplaced() throws {
        let (script, part) = (ScriptedDisk(), Self.part())
        let fixture = try StoreFixture(fileSystem: Self.disk, script: script, before: ["a": .one])
        script.start()
        script.fail("linkName", with: ENOSPC)
        let error = #expect(throws: Failure.self) { try publish(fixture, "a", .six, part) }
        #expect(error?.code == .insufficientStorage)
        #expect(Files.read(fixture.path("a")) == .one)
        #expect(Files.names(fixture.path(".transfer/trash")) == [])
    }

    /// Older files in the trash are removed once to make room for the name.
    @Test func whatIsOlderGivesWayToAName() throws {
        let (script, part) = (ScriptedDisk(), Self.part())
        let fixture = try StoreFixture(fileSystem: Self.disk, script: script, before: ["a": .one])
        let needs = Locked<[RoomNeed]>([])
        fixture.store.whenFull { need in
            needs.withLock { $0.append(need) }
            return true
        }
        script.start()
        script.fail("linkName", with: ENOSPC)
        let kept = try #require(try publish(fixture, "a", .six, part))
        #expect(needs.withLock { $0.count } == 1)
        #expect(Files.read(fixture.path("a")) == .six && Files.read(fixture.path(kept.place.string)) == .one)
    }

    /// The names in the trash are synced together with the content, before any file is replaced, and not one by one.
    @Test func namesInTheTrashAreDurableBeforeAnythingIsReplaced() throws {
        let calls = Locked<[String]>([])
        let disk = Disk(
            interception: { call, body in
                switch call {
                case .linkName: calls.withLock { $0.append("link") }
                case .rename(_, _, _, let name, true) where name.count == 1: calls.withLock { $0.append("replace") }
                case .sync, .syncAll:
                    calls.withLock { $0.append("sync") }
                    return 0
                default: break
                }
                return body()
            }, dirtyBytes: { 0 })
        let names = ["a", "b", "c", "d", "e"]
        let temporary = try TemporaryDirectory(prefersMemory: true)
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, fileSystem: Self.disk, disk: disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        for name in names { try fixture.publish(name, .one) }
        calls.withLock { $0 = [] }
        let part = Self.part()
        let batch = try names.map { try publication(fixture, $0, .six, part) }
        for outcome in fixture.publish(batch) { _ = try outcome.get() }
        #expect(
            calls.withLock { $0 } == names.map { _ in "link" } + ["sync"] + names.map { _ in "replace" } + ["sync"])
    }

    /// Another file takes the name between the link and the rename: the trash keeps that file as well.
    @Test func whatComesInBetweenIsKept() throws {
        let path = Locked("")
        let disk = Disk(
            interception: { call, body in
                if call.isSync, let place = path.withLock({ path in path.isEmpty ? nil : path }) {
                    path.withLock { $0 = "" }
                    try? Files.write(.two, to: place + "-new")
                    Glibc.rename(place + "-new", place)
                    return 0
                }
                return call.isSync ? 0 : body()
            }, dirtyBytes: { 0 })
        let temporary = try TemporaryDirectory(prefersMemory: true)
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, fileSystem: Self.disk, disk: disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        try fixture.publish("a", .one)
        path.withLock { $0 = fixture.path("a") }
        let kept = try #require(try publish(fixture, "a", .six, Self.part()))
        #expect(Files.read(fixture.path("a")) == .six)
        #expect(Files.read(fixture.path(kept.place.string)) == .two)
        #expect(trash(fixture).count == 1)
    }

    /// A file that was linked into the trash and not replaced in the end leaves no name there.
    @Test func aConditionThatDoesNotHoldKeepsNothing() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("d/a", .one)
        var refused = try publication(fixture, "d/a", .six, part)
        refused.condition = .onlyNew
        #expect(throws: Failure.self) { _ = try fixture.publish([refused])[0].get() }
        var taken = try publication(fixture, "d/a", .six, part)
        taken.condition = PublicationCondition { $0?.size == 3 }
        _ = try fixture.publish([taken])[0].get()
        #expect(Files.read(fixture.path(try #require(taken.content.kept).place.string)) == .one)
        #expect(trash(fixture).count == 1)
    }

    /// A condition refers to the file as it was before it got a second name.
    @Test func aConditionIsComparedWithTheFileAsItWas() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let known = fixture.store.version(at: try RelativePath("a"))
        var publication = try publication(fixture, "a", .six, part)
        publication.condition = PublicationCondition { $0?.version == known }
        _ = try fixture.publish([publication])[0].get()
        #expect(Files.read(fixture.path("a")) == .six && publication.content.kept != nil)
    }

    /// A second name, even a short-lived one, would make the file another version, whose acknowledgement does not hold.
    @Test func whatMayNotBeReplacedIsNotTouched() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let old = fixture.store.version(at: try RelativePath("a"))
        var refused = try publication(fixture, "a", .six, part)
        refused.condition = PublicationCondition { _ in true }
        let outcome = fixture.store.publish([refused], mayReplace: { _, _ in false }).outcomes[0]
        #expect(throws: Failure.self) { try outcome.get() }
        #expect(fixture.store.version(at: try RelativePath("a")) == old)
    }

    /// A file that was linked and keeps its path in the end is another version, which the catalog has to record.
    @Test func whatIsNotReplacedInTheEndIsToldOf() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        let old = try #require(fixture.store.version(at: try RelativePath("a")))
        let looks = Atomic(0)
        var refused = try publication(fixture, "a", .six, part)
        refused.condition = PublicationCondition { _ in looks.wrappingAdd(1, ordering: .relaxed).newValue == 1 }
        var batch = fixture.store.publish([refused])
        #expect(throws: Failure.self) { try batch.outcomes[0].get() }
        let now = try #require(fixture.store.version(at: try RelativePath("a")))
        #expect(now != old)
        #expect(batch.touched == [TouchedFile(try RelativePath("a"), KeptFile.Versions(before: old, after: now))])
        // Until the catalog has recorded the new version, a lookup treats it as the acknowledged file.
        #expect(fixture.store.isAboutToGiveWay(now, knownAs: old))
        withExtendedLifetime(batch) {}
        batch = PublishedBatch(outcomes: [])
        #expect(!fixture.store.isAboutToGiveWay(now, knownAs: old))
        #expect(trash(fixture) == [])
    }

    /// A file whose content the disk has lost is not worth keeping.
    @Test func whatIsHealedIsNotKept() throws {
        let (fixture, part) = (try StoreFixture(), Self.part())
        try fixture.publish("a", .one)
        try Files.write(.two, to: fixture.path("a"))
        let publication = try publication(fixture, "a", .one, part)
        let digest = publication.digest
        let outcome = fixture.store.publish([publication], acknowledged: { _, _ in digest }).outcomes[0]
        guard case .success(.healed) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(publication.content.kept == nil)
        #expect(trash(fixture) == [])
    }

    /// Files in the trash are stored, and count until they are removed.
    @Test func whatIsKeptCounts() throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 1000))
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        try fixture.publish("a", .one)
        let kept = try #require(try publish(fixture, "a", .six, Self.part()))
        #expect(store.quota?.used == 9)
        let remover = store.remover()
        let removal = try remover.begin(.trash(kept.batch, nil), isRecursive: true, of: nil)
        while try !removal.step(10) {}
        try remover.commit()
        #expect(store.quota?.used == 6)
    }

    /// A file that cannot have two names is moved to the trash, and counts there.
    @Test(arguments: [TreeChange.Kind.link, .folder, .move]) func whatIsMovedToTheTrashCounts(_ kind: TreeChange.Kind)
        throws
    {
        let temporary = try TemporaryDirectory(prefersMemory: true)
        try Files.makeDirectory(temporary.path("store"))
        try Files.write(.one, to: temporary.path("store/a"))
        try Files.write(.six, to: temporary.path("store/b"))
        let disk = Disk(interception: { call, body in
            if case .linkName = call { -Int(EPERM) } else { body() }
        })
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit, limits: SpaceLimits(quota: 1000), fileSystem: nil,
            disk: disk)
        let (path, batch) = (try RelativePath("a"), TrashBatch(at: 0, number: 1))
        let change: TreeChange =
            switch kind {
            case .link: .link(path, to: [0x78], replaces: true, nil)
            case .folder: .folder(path, replaces: true, nil)
            default: .move(try RelativePath("b"), to: path, replaces: true)
            }
        let planned = PlannedChange(
            change, trashed: nil, compared: nil, expected: nil, place: TrashPlace(path, in: batch))
        let changes = store.changes(for: nil)
        changes.prepare([planned])
        #expect(try changes.make(planned).kept?.batch == batch)
        try changes.commit(KnownChanges())
        #expect(changes.finish() == [])
        #expect(Files.read(temporary.path("store/" + RelativePath.trash(batch, path).string)) == .one)
        #expect(store.quota?.used == 9)
        let removal = try store.remover().begin(.trash(batch, nil), isRecursive: true, of: nil)
        while try !removal.step(10) {}
        #expect(store.quota?.used == 6)
    }

    /// Another client has replaced the file meanwhile without keeping it: the file counts as long as it has its name in
    /// the trash.
    @Test(arguments: [false, true]) func whatIsNotKeptInTheEndCountsNoMore(isClosed: Bool) throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 1000))
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        try fixture.publish("a", .one)
        let files = ReplacedFiles(store.tree, store.incoming, store.space?.quota)
        let (path, found) = (try RelativePath("a"), try #require(Files.status(fixture.path("a"))))
        let kept = try files.keep(path, found, in: store.tree.root, to: Self.part(), since: 0)
        let keeping = try #require(kept)
        try publish(fixture, "a", .six, nil)
        #expect(store.quota?.used == 9)
        if !isClosed { files.undo(keeping) }
        files.close()
        #expect(store.quota?.used == 6 && trash(fixture) == [])
    }

    /// A trash batch is as old as its first file, and is removed with it.
    @Test func aPartOfTheTrashIsNotUsedForLong() {
        let now = Locked<Int64>(0)
        let part = OpenTrashBatch(utc: { now.withLock { $0 } })
        let first = part.current
        now.withLock { $0 = OpenTrashBatch.longest - 1 }
        #expect(part.current == first)
        now.withLock { $0 += 1 }
        let second = part.current
        #expect(second != first && part.renew(behind: first) == second)
        // A clock that is set back does not make files older.
        now.withLock { $0 = 5 }
        #expect(part.current != second)
    }
}
