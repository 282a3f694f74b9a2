import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferStoreTestSupport
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// An existing file with the path and the content of an upload is acknowledged only when it is on the disk, with all
/// directories above it.
@Suite struct AlreadyStoredTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)
    private static let content = [UInt8].six

    private func inode(_ path: String) -> ino_t? { Files.status(path)?.st_ino }

    /// The file has its name, but the directory could not be synced: the upload failed, and the file exists.
    @Test(arguments: [false, true]) func aNameThatCouldNotBeSynced(restarts: Bool) throws {
        let script = ScriptedDisk()
        let failed = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        script.start(failed.root)
        script.fail(sync: 1, with: EIO)
        #expect(try failed.failure("a", Self.content) == .storageFailed)
        #expect(failed.visible == ["a"])
        let fixture = restarts ? try failed.restarted(on: script.disk) : failed
        let before = inode(fixture.path("a"))
        #expect(try fixture.publish("a", Self.content) == .committed("a"))
        #expect(fixture.visible == ["a"] && inode(fixture.path("a")) != before)
    }

    /// A server that was killed during a sync has not recorded the result.
    @Test func afterADeathInASync() throws {
        let script = ScriptedDisk()
        let dead = try StoreFixture(fileSystem: Self.simpleDisk, script: script)
        let publication = try dead.publication("a", Self.content)
        script.start(dead.root)
        script.die(inSync: 1)
        _ = dead.publish([publication])
        script.mend()
        let fixture = try dead.restarted(on: script.disk)
        #expect(fixture.visible == ["a"] && fixture.store.isInDoubt)
        #expect(try fixture.publish("a", Self.content) == .committed("a"))
    }

    /// A server without durability has made directories and synced none.
    @Test func everythingAboveIsSynced() throws {
        let syncs = RecordedSyncs()
        let quick = try StoreFixture(.none, fileSystem: Self.simpleDisk, syncs: syncs)
        #expect(try quick.publish("a/b/c/1", Self.content) == .committed("a/b/c/1"))
        #expect(syncs.all.isEmpty)
        let fixture = try quick.restarted(on: syncs.disk)
        let wanted = ["", "a", "a/b", "a/b/c", "a/b/c/1"].map { inode(fixture.path($0)) }
        let synced = Locked([ino_t]())
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            synced.withLock { $0.append(status.st_ino) }
        }
        #expect(try fixture.publish("a/b/c/1", Self.content) == .alreadyStored("a/b/c/1"))
        #expect(synced.withLock { Set($0) }.isSuperset(of: wanted.compactMap(\.self)))
    }

    @Test(arguments: 0..<5) func oneOfThemThatCannotBeSynced(number: Int) throws {
        let script = ScriptedDisk()
        let quick = try StoreFixture(.none, fileSystem: Self.simpleDisk, syncs: RecordedSyncs())
        #expect(try quick.publish("a/b/c/1", Self.content) == .committed("a/b/c/1"))
        let fixture = try quick.restarted(on: script.disk)
        script.start()
        script.fail(sync: number, with: EIO)
        #expect(try fixture.failure("a/b/c/1", Self.content) == .storageFailed)
        #expect(fixture.store.isInDoubt)
        #expect(try fixture.publish("a/b/c/1", Self.content) == .committed("a/b/c/1"))
        #expect(fixture.visible.filter { !$0.hasSuffix("/") } == ["a/b/c/1"])
    }

    /// The kernel reports lost bytes for each file: a sync of the whole file system may have reported them to another
    /// caller.
    @Test func whatWasLostBeforeIsAskedOfEachFile() throws {
        let script = ScriptedDisk()
        let fixture = try StoreFixture(fileSystem: FileSystem(isMemory: false, syncsAsAWhole: true), script: script)
        let batch = try (0..<5).map { try fixture.publication("\($0)", [UInt8](text: "\($0)"), asPart: true) }
        script.start(fixture.root)
        script.fail(check: 2, with: EIO)
        let outcomes = fixture.publish(batch)
        let failed = outcomes.indices.filter { if case .failure = outcomes[$0] { true } else { false } }
        #expect(failed == [2] && fixture.parts.isEmpty && fixture.store.isInDoubt)
    }

    /// The same content, uploaded many times, costs one sync of the existing file.
    @Test(arguments: [ConflictPolicy.overwrite, .keepBoth, .skip, .fail], [1, 40])
    func itsCopyIsNotSynced(conflict: ConflictPolicy, count: Int) throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        #expect(try fixture.publish("a", Self.content) == .committed("a"))
        let there = inode(fixture.path("a"))
        let batch = try (0..<count).map { _ in
            var publication = try fixture.publication("a", Self.content)
            publication.conflict = conflict
            return publication
        }
        let synced = Locked([ino_t]())
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            if status.st_mode & S_IFMT == S_IFREG { synced.withLock { $0.append(status.st_ino) } }
        }
        #expect(fixture.publish(batch) == batch.map { .success(.alreadyStored($0.path)) })
        #expect(synced.withLock { $0 } == [there].compactMap(\.self))
        #expect(inode(fixture.path("a")) == there && fixture.visible == ["a"] && fixture.parts.isEmpty)
    }

    private func inode(_ publication: Publication) -> ino_t {
        var status = stat()
        fstat(publication.staged.number, &status)
        return status.st_ino
    }

    /// An empty upload that is already stored costs the file system no work, however often it is sent.
    @Test func itsEmptyFileIsTheNextUploads() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: RecordedSyncs())
        #expect(try fixture.publish("a", []) == .committed("a"))
        let copy = try fixture.publication("a", [])
        let number = inode(copy)
        let start = Timestamp.now
        #expect(fixture.publish([copy]) == [.success(.alreadyStored(copy.path))])
        let next = try fixture.publication("b", .one)
        #expect(inode(next) == number)
        #expect(fixture.publish([next]) == [.success(.committed(next.path))])
        #expect(Files.read(fixture.path("b")) == .one && Files.read(fixture.path("a")) == [])
        let modified = try #require(Files.status(fixture.path("b"))?.st_mtim)
        #expect(modified.tv_sec >= start.seconds - 1)
        // A file that has content or a name is not used for another upload.
        let another = try fixture.publication("b", .one)
        let written = inode(another)
        #expect(fixture.publish([another]) == [.success(.alreadyStored(another.path))])
        let last = try fixture.publication("c", .two)
        #expect(![number, written].contains(inode(last)))
    }

    /// The existing file is replaced after its content was compared: here by another upload of the same batch.
    private func publishOverAnother(_ fixture: StoreFixture) throws -> (batch: [Publication], copy: ino_t) {
        #expect(try fixture.publish("a", .one) == .committed("a"))
        let batch = try [[UInt8].two, .one].map { content in
            var publication = try fixture.publication("a", content)
            publication.conflict = .overwrite
            return publication
        }
        var status = stat()
        fstat(batch[1].staged.number, &status)
        return (batch, status.st_ino)
    }

    @Test func itsCopyIsSyncedWhenItIsNeeded() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let (batch, copy) = try publishOverAnother(fixture)
        let names = Locked([ino_t?]())
        let path = fixture.path("a")
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            if status.st_ino == copy { names.withLock { $0.append(Files.status(path)?.st_ino) } }
        }
        #expect(fixture.publish(batch) == batch.map { .success(.committed($0.path)) })
        // The copy was synced before it got its name.
        let before = names.withLock { $0 }
        #expect(before.count == 1 && before.first != .some(copy))
        #expect(Files.read(path) == .one && inode(path) == copy)
    }

    @Test func itsCopyThatCannotBeSyncedIsNotStored() throws {
        let syncs = RecordedSyncs()
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let (batch, copy) = try publishOverAnother(fixture)
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call else { return }
            var status = stat()
            fstat(number, &status)
            if status.st_ino == copy { throw RecordedSyncs.failure }
        }
        let outcomes = fixture.publish(batch)
        let error = #expect(throws: Failure.self) { try outcomes[1].get() }
        #expect(error?.code == .storageFailed)
        #expect(Files.read(fixture.path("a")) == .two)
        #expect(fixture.parts.isEmpty && fixture.store.isInDoubt)
    }
}
