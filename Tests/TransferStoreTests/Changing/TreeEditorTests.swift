import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Names and attributes change in one step each, only inside the directory, and are durable when `commit` returns.
@Suite struct TreeEditorTests {
    private func path(_ text: String) throws -> RelativePath { try RelativePath(text) }

    private func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink(path, &buffer, buffer.count)
        return count < 0 ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// A new file can get the inode number of a removed folder.
    @Test func aFileIsNotTakenForTheFolderWhoseNumberItHas() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let file = try #require(Files.status(fixture.path("a")))
        let folder = try #require(Files.status(fixture.path("")))
        let earlier = ContentVersion(object: ContentVersion(file).object, revision: 1, touch: 1, size: 0)
        #expect(throws: Failure.self) {
            try ComparedFile(earlier, tolerating: .entries).check(file, try path("a"))
        }
        let other = ContentVersion(object: ContentVersion(folder).object, revision: 1, touch: 1, size: 0)
        #expect(throws: Never.self) { try ComparedFile(other, tolerating: .entries).check(folder, try path("a")) }
    }

    @Test func foldersAndLinksAreMade() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let editor = fixture.store.editor()
        try editor.makeDirectory(try path("d/e"))
        try editor.makeDirectory(try path("d/e"))
        try editor.makeLink(try path("d/l"), to: Array("/etc/passwd".utf8), replaces: false)
        try editor.makeLink(try path("d/l"), to: Array("/etc/passwd".utf8), replaces: false)
        _ = try editor.makeHardLink(try path("d/h"), to: try path("a"), replaces: false)
        try editor.commit()
        #expect(fixture.visible == ["a", "d/", "d/e/", "d/h", "d/l"])
        #expect(link(fixture.path("d/l")) == "/etc/passwd")
        #expect(Files.status(fixture.path("d/h"))?.st_ino == Files.status(fixture.path("a"))?.st_ino)
        #expect(fixture.parts.isEmpty)
    }

    /// A private folder is never open to others, not even briefly.
    @Test(arguments: [0, 0o700, 0o750, 0o555] as [UInt16]) func aFolderIsMadeWithItsPermissions(_ given: UInt16) throws
    {
        let fixture = try StoreFixture()
        let editor = fixture.store.editor()
        try editor.makeDirectory(try path("d/e"), permissions: given)
        #expect(Files.mode(fixture.path("d/e")) == mode_t(given | 0o700) & ~fixture.store.umask)
        #expect(Files.mode(fixture.path("d")) == 0o777 & ~fixture.store.umask)
        try editor.makeDirectory(try path("d"), permissions: given)
        #expect(Files.mode(fixture.path("d")) == 0o777 & ~fixture.store.umask)
        try editor.commit()
        let pulled = try PullDirectory(path: fixture.temporary.path("in"), permissions: given)
        #expect(Files.mode(fixture.temporary.path("in")) == mode_t(given | 0o700) & ~pulled.umask)
    }

    /// The kernel would cut the target at its zero byte and report success.
    @Test(arguments: [[0x61, 0, 0x62], [0], []] as [[UInt8]]) func aLinkSaysAllOfItOrIsNotMade(_ target: [UInt8]) throws
    {
        let fixture = try StoreFixture()
        let editor = fixture.store.editor()
        let error = #expect(throws: Failure.self) { try editor.makeLink(try path("l"), to: target, replaces: false) }
        #expect(error?.code == .invalidPath && fixture.visible == [])
    }

    /// A sync of the store's own file system does not cover another file system that is mounted below it. The test is
    /// skipped where mounting is not allowed.
    @Test func attributesOnAnotherFileSystemAreSyncedThere() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), syncs: syncs)
        let place = fixture.path("d")
        try Files.makeDirectory(place)
        guard mount("tmpfs", place, "tmpfs", 0, nil) == 0 else {
            print("skipped attributesOnAnotherFileSystemAreSyncedThere: \(String(cString: strerror(errno)))")
            return
        }
        defer { umount2(place, Int32(MNT_DETACH)) }
        let count = Committer.groupSize + 1
        let editor = fixture.store.editor()
        for number in 0..<count {
            try Files.write(.one, to: place + "/\(number)")
            _ = try editor.set(try path("d/\(number)"), permissions: 0o600, modified: nil, nil)
        }
        syncs.reset()
        try editor.commit()
        #expect(syncs.syncs.count { if case .file = $0 { true } else { false } } == count)
        #expect(!syncs.syncs.contains { if case .fileSystem = $0 { true } else { false } })
    }

    @Test func whatIsThereStaysUnlessItMayBeReplaced() throws {
        let fixture = try StoreFixture()
        for name in ["a", "b", "c", "d/x"] { try fixture.publish(name, .one) }
        let editor = fixture.store.editor()
        for (name, replaces) in [("a", false), ("d", false), ("d", true)] {
            let error = #expect(throws: Failure.self) {
                try editor.makeLink(try path(name), to: [0x78], replaces: replaces)
            }
            #expect(error?.code == .pathConflict)
        }
        #expect(throws: Failure.self) { try editor.makeDirectory(try path("a")) }
        try editor.makeLink(try path("a"), to: [0x78], replaces: true)
        _ = try editor.makeHardLink(try path("b"), to: try path("c"), replaces: true)
        try editor.makeDirectory(try path("c"), replaces: true)
        try editor.commit()
        #expect(link(fixture.path("a")) == "x")
        #expect(Files.status(fixture.path("c"))?.isDirectory == true)
        #expect(Files.status(fixture.path("b"))?.isFile == true && fixture.parts.isEmpty)
    }

    /// rename(2) changes no name if both names refer to one file, and reports success.
    @Test func ofTwoNamesOfOneFileTheMovedOneGoes() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let editor = fixture.store.editor()
        _ = try editor.makeHardLink(try path("b"), to: try path("a"), replaces: false)
        _ = try editor.move(try path("a"), to: try path("b"), replaces: true)
        try editor.commit()
        #expect(fixture.visible == ["b"])
    }

    /// Another process has replaced the file between the lookup and the change.
    @Test func whatIsNotExpectedIsNotChanged() throws {
        let fixture = try StoreFixture()
        for name in ["a", "b"] { try fixture.publish(name, .one) }
        let other = try #require(try fixture.store.object(at: try path("b"))).version
        let editor = fixture.store.editor()
        let tries: [() throws -> Void] = [
            { _ = try editor.move(try path("a"), to: try path("c"), expecting: other) },
            { _ = try editor.makeHardLink(try path("c"), to: try path("a"), replaces: false, expecting: other) },
            { _ = try editor.set(try path("a"), permissions: 0o600, modified: nil, nil, expecting: other) },
        ]
        for attempt in tries {
            let error = #expect(throws: Failure.self) { try attempt() }
            #expect(error?.code == .busy)
        }
        #expect(fixture.visible == ["a", "b"])
    }

    /// The replaced file stays until the folder takes its name, also if the file system has no exchange call or the
    /// folder's parent is on another mount.
    @Test(arguments: [0, EINVAL, EXDEV]) func aFolderReplacesAFileThatStaysUntilThen(_ refusal: Int32) throws {
        let temporary = try TemporaryDirectory()
        let isWatched = Locked(false)
        let file = temporary.path("store/a")
        let refused = Locked<[String]>([])
        let disk = Disk(interception: { call, body in
            if case .exchange = call, refusal != 0 { return -Int(refusal) }
            guard isWatched.withLock({ $0 }), case .makeDirectory(_, let name) = call, refusal == 0 || name == "a"
            else {
                return body()
            }
            // The last step before the folder has its name fails.
            if refusal == 0, Files.status(file)?.isFile != true { refused.withLock { $0.append("gone") } }
            return -Int(ENOSPC)
        })
        let store = try FileStore(
            path: temporary.path("store"), durability: .none, fileSystem: nil, disk: disk)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        try fixture.publish("a", .one)
        isWatched.withLock { $0 = true }
        let editor = store.editor()
        let error = #expect(throws: Failure.self) { try editor.makeDirectory(try path("a"), replaces: true) }
        #expect(error?.code == .insufficientStorage)
        #expect(Files.status(file)?.isFile == true && fixture.visible == ["a"] && fixture.parts.isEmpty)
        #expect(refused.withLock { $0 } == [])
        isWatched.withLock { $0 = false }
        try editor.makeDirectory(try path("a"), replaces: true, permissions: 0o700)
        try editor.makeDirectory(try path("a/b"), replaces: true)
        try editor.commit()
        #expect(fixture.visible == ["a/", "a/b/"] && fixture.parts.isEmpty)
        #expect(Files.mode(fixture.path("a")) == 0o700)
    }

    /// A server that was killed between two calls leaves a folder that has no record; the next server removes it.
    @Test func aFolderThatWasToReplaceSomethingIsALeftover() throws {
        let fixture = try StoreFixture()
        try Files.makeDirectory(fixture.path(".transfer/incoming/\(StagedFile.scratchName())"))
        _ = try fixture.store.removeLeftovers()
        #expect(fixture.parts.isEmpty)
    }

    /// XFS syncs a folder only up to its last change, and a symbolic link cannot be synced.
    @Test func theFolderOfALinkIsChangedBehindTheLink() throws {
        let temporary = try TemporaryDirectory()
        let calls = Locked<[String]>([])
        let disk = Disk(interception: { call, body in
            switch call {
            case .setLink: calls.withLock { $0.append("link") }
            case .setTimes: calls.withLock { $0.append("folder") }
            case .sync: calls.withLock { $0.append("sync") }
            default: break
            }
            return body()
        })
        let store = try FileStore(
            path: temporary.path("store"), durability: .commit,
            fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), disk: disk)
        let editor = store.editor()
        try editor.makeLink(try path("l"), to: [0x78], replaces: false)
        try editor.commit()
        calls.withLock { $0 = [] }
        let before = try #require(Files.status(temporary.path("store")))
        let second = store.editor()
        _ = try second.set(
            try path("l"), permissions: nil, modified: Timestamp(seconds: 1_000_000_000, nanoseconds: 0), nil)
        try second.commit()
        #expect(calls.withLock { $0 } == ["link", "folder", "sync"])
        let after = try #require(Files.status(temporary.path("store")))
        #expect(after.st_mtim.tv_sec == before.st_mtim.tv_sec && after.st_mtim.tv_nsec == before.st_mtim.tv_nsec)
    }

    @Test func whatGaveWayIsNoLongerCounted() throws {
        let temporary = try TemporaryDirectory()
        var limits = SpaceLimits()
        limits.quota = 1 << 20
        let store = try FileStore(path: temporary.path("store"), limits: limits)
        let fixture = StoreFixture(temporary: temporary, store: store, name: "store")
        for name in ["a", "b", "c", "d"] { try fixture.publish(name, .one) }
        let one = try #require(store.quota).used / 4
        let editor = store.editor()
        _ = try editor.move(try path("a"), to: try path("b"), replaces: true)
        try editor.makeLink(try path("c"), to: [0x78], replaces: true)
        try editor.makeDirectory(try path("d"), replaces: true)
        try editor.commit()
        #expect(one > 0 && store.quota?.used == one)
    }

    @Test func nothingGoesThroughALink() throws {
        let fixture = try StoreFixture()
        try Files.makeDirectory(fixture.temporary.path("outside"))
        #expect(symlink(fixture.temporary.path("outside"), fixture.path("out")) == 0)
        try fixture.publish("a", .one)
        let editor = fixture.store.editor()
        #expect(throws: Failure.self) { try editor.makeDirectory(try path("out/d")) }
        #expect(throws: Failure.self) { try editor.makeLink(try path("out/l"), to: [0x78], replaces: true) }
        #expect(throws: Failure.self) { _ = try editor.move(try path("a"), to: try path("out/a"), replaces: true) }
        #expect(throws: Failure.self) {
            _ = try editor.makeHardLink(try path("h"), to: try path("out"), replaces: false)
        }
        #expect(Files.names(fixture.temporary.path("outside")).isEmpty)
        // A move renames the link itself.
        _ = try editor.move(try path("out"), to: try path("moved"))
        try editor.commit()
        #expect(link(fixture.path("moved")) == fixture.temporary.path("outside"))
    }

    @Test func filesAndFoldersAreMoved() throws {
        let fixture = try StoreFixture()
        for name in ["a", "b", "d/x"] { try fixture.publish(name, .one) }
        let editor = fixture.store.editor()
        let moved = try editor.move(try path("a"), to: try path("n/a"))
        #expect(moved.version?.before.object == moved.version?.after.object)
        #expect(throws: Failure.self) { try editor.move(try path("b"), to: try path("n/a")) }
        #expect(throws: Failure.self) { try editor.move(try path("d"), to: try path("d/x/y")) }
        #expect(throws: Failure.self) { try editor.move(try path("d"), to: try path("n"), replaces: true) }
        let error = #expect(throws: Failure.self) { try editor.move(try path("a"), to: try path("z")) }
        #expect(error?.code == .notFound)
        _ = try editor.move(try path("b"), to: try path("n/a"), replaces: true)
        _ = try editor.move(try path("d"), to: try path("n/d"))
        #expect(editor.isFull)
        try editor.commit()
        #expect(fixture.visible == ["n/", "n/a", "n/d/", "n/d/x"])
    }

    @Test func attributesAreSet() throws {
        let fixture = try StoreFixture()
        try fixture.publish("d/a", .one)
        let editor = fixture.store.editor()
        let modified = Timestamp(seconds: 1_000_000_000, nanoseconds: 7)
        let extra = ExtraAttributes(extended: [.init(name: Array("user.x".utf8), value: [1, 0, 2])])
        let set = try editor.set(try path("d/a"), permissions: 0o666, modified: modified, extra)
        #expect(set.version?.before != set.version?.after)
        _ = try editor.set(try path("d"), permissions: 0o700, modified: modified, nil)
        try editor.commit()
        let entries = try fixture.store.list(try path("d")).nextWhole(10)
        #expect(entries.count == 1 && entries[0].attributes.modified == modified)
        #expect(entries[0].attributes.permissions == 0o666)
        // Not every file system has extended attributes.
        if let extended = entries[0].extra.extended { #expect(extended == extra.extended) }
        #expect(Files.status(fixture.path("d")).map { $0.st_mode & 0o777 } == 0o700)
    }

    @Test func listsHaveLinksOnRequest() throws {
        let fixture = try StoreFixture()
        try fixture.publish("a", .one)
        let editor = fixture.store.editor()
        _ = try editor.makeHardLink(try path("b"), to: try path("a"), replaces: false)
        try editor.makeLink(try path("l"), to: Array("a".utf8), replaces: false)
        try editor.commit()
        let whole = try fixture.store.list(nil).nextWhole(10)
        #expect(Set(whole.map(\.path.string)) == ["a", "b", "l"])
        #expect(whole.filter { $0.target == nil }.allSatisfy { $0.names == 2 })
        #expect(whole.first { $0.target != nil }?.target == Array("a".utf8))
        #expect(try fixture.store.list(nil).next(10).count == 2)
    }

    @Test func aSyncThatFailsIsTold() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: false), syncs: syncs)
        try fixture.publish("a", .one)
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        let editor = fixture.store.editor()
        _ = try editor.move(try path("a"), to: try path("b"))
        let error = #expect(throws: Failure.self) { try editor.commit() }
        #expect(error?.code == .storageFailed && fixture.store.isInDoubt)
    }

    @Test func whatIsTakenOutOfTheTrashLeavesNoFoldersThere() throws {
        let fixture = try StoreFixture()
        for name in ["d/a", "d/b"] { try fixture.publish(name, .one) }
        let batch = TrashBatch(at: 1_767_225_600_000_000_000, number: 1)
        var editor = fixture.store.editor()
        for name in ["d/a", "d/b"] { _ = try editor.move(try path(name), to: .trash(batch, try path(name))) }
        try editor.commit()
        #expect(try fixture.visible == ["d/"] && fixture.store.trash(below: nil) == [batch])
        #expect(try fixture.store.trash(below: try path("d")) == [batch])
        #expect(try fixture.store.trash(below: try path("e")).isEmpty)
        for name in ["d/a", "d/b"] {
            editor = fixture.store.editor()
            _ = try editor.move(.trash(batch, try path(name)), to: try path(name))
            try editor.commit()
        }
        #expect(try fixture.visible == ["d/", "d/a", "d/b"] && fixture.store.trash(below: nil).isEmpty)
    }
}
