import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Which directories are synced so that the path of an upload survives, no matter which batch made them.
@Suite struct BatchDirectoriesTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)

    private let syncs = RecordedSyncs()

    private func inode(_ number: Int32) -> ino_t {
        var status = stat()
        fstat(number, &status)
        return status.st_ino
    }

    private func makeFolder(_ path: String, in fixture: StoreFixture) throws {
        let editor = fixture.store.editor()
        try editor.makeDirectory(try RelativePath(path))
        try editor.commit()
    }

    /// Paths of the directories that `body` syncs.
    private func synced(_ fixture: StoreFixture, _ body: () throws -> Void) rethrows -> [String] {
        let synced = Locked([ino_t]())
        syncs.observe { call throws(SystemError) in
            if case .file(let number) = call { synced.withLock { $0.append(inode(number)) } }
        }
        try body()
        let paths = ["", "a", "a/b", "a/b/c"]
        return synced.withLock { $0 }.flatMap { inode in
            paths.filter { Files.status(fixture.path($0))?.st_ino == inode }
        }.sorted()
    }

    @Test(arguments: [0, 1, 3]) func theFirstUploadSyncsAllTheWay(existing: Int) throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        for path in ["a", "a/b", "a/b/c"].prefix(existing) { try Files.makeDirectory(fixture.path(path)) }
        #expect(try synced(fixture) { try fixture.publish("a/b/c/1", .one) } == ["", "a", "a/b", "a/b/c"])
        #expect(try synced(fixture) { try fixture.publish("a/b/c/2", .one) } == ["a/b/c"])
        #expect(try synced(fixture) { try fixture.publish("a/b/3", .one) } == ["a/b"])
        // Another process removes the directory.
        for name in ["1", "2"] { unlink(fixture.path("a/b/c/\(name)")) }
        rmdir(fixture.path("a/b/c"))
        #expect(try synced(fixture) { try fixture.publish("a/b/c/4", .one) } == ["a/b", "a/b/c"])
    }

    /// If the sync of a new directory fails, its name may not be on the disk.
    @Test func aNewDirectoryThatCouldNotBeSynced() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let root = inode(fixture.store.tree.root.number)
        syncs.observe { call throws(SystemError) in
            if case .file(let number) = call, inode(number) == root { throw RecordedSyncs.failure }
        }
        #expect(try fixture.failure("a/b/1", .one) == .storageFailed)
        syncs.observe { _ throws(SystemError) in }
        for path in ["a/b/1", "a/2", "a/c/3"] {
            let error = #expect(throws: Failure.self) { try fixture.publish(path, .one) }
            #expect(error?.code == .storageFailed)
            #expect(error?.message.contains("remove the directory") == true)
        }
        #expect(try fixture.publish("4", .one) == .committed("4"))
        unlink(fixture.path("a/b/1"))
        rmdir(fixture.path("a/b"))
        rmdir(fixture.path("a"))
        #expect(try synced(fixture) { try fixture.publish("a/b/1", .one) } == ["", "a", "a/b"])
        #expect(try fixture.publish("a/b/1", .one) == .committed("a/b/1"))
        #expect(try fixture.publish("a/b/2", .one) == .committed("a/b/2"))
    }

    /// A sync that could not begin has lost no data: a directory that was made for it can be used like any other.
    @Test func aNewDirectoryThatNoSyncWasAbout() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        try Files.makeDirectory(fixture.path(".transfer/sync-idle"))
        #expect(try fixture.failure("1", .one) != nil)
        #expect(throws: Failure.self) { try makeFolder("a/b", in: fixture) }
        rmdir(fixture.path(".transfer/sync-idle"))
        #expect(try synced(fixture) { try fixture.publish("a/b/1", .one) } == ["", "a", "a/b"])
        #expect(try fixture.publish("a/b/2", .one) == .committed("a/b/2"))
        #expect(Files.names(fixture.path(".transfer")).allSatisfy { !$0.hasPrefix("unsynced-") })
    }

    /// The next sync that fails may report the loss of the directory's name, whatever it syncs; later syncs do not
    /// report it.
    @Test(arguments: [true, false]) func aNewDirectoryThatALaterSyncMayHaveLost(isOfNames: Bool) throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        try Files.makeDirectory(fixture.path(".transfer/sync-idle"))
        #expect(throws: Failure.self) { try makeFolder("a", in: fixture) }
        rmdir(fixture.path(".transfer/sync-idle"))
        let root = inode(fixture.store.tree.root.number)
        syncs.observe { call throws(SystemError) in
            if case .file(let number) = call, isOfNames == (inode(number) == root) { throw RecordedSyncs.failure }
        }
        #expect(try fixture.failure("1", .one) == .storageFailed)
        syncs.observe { _ throws(SystemError) in }
        #expect(try fixture.failure("a/1", .one) == .storageFailed)
        #expect(try fixture.publish("b/1", .one) == .committed("b/1"))
        let next = try fixture.restarted(on: syncs.disk)
        #expect(try next.failure("a/1", .one) == .storageFailed)
    }

    /// A batch that made a directory is abandoned before any sync.
    @Test func aNewDirectoryOfABatchThatGaveUp() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        try Files.write(.one, to: fixture.path("f"))
        let batch = BatchDirectories(fixture.store.tree, fixture.store.incoming.committer)
        _ = try batch.open(try RelativePath("a"))
        #expect(throws: Failure.self) { try batch.open(try RelativePath("f/b")) }
        batch.close()
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        #expect(try fixture.failure("1", .one) == .storageFailed)
        syncs.observe { _ throws(SystemError) in }
        #expect(try fixture.failure("a/1", .one) == .storageFailed)
    }

    /// The name of a new directory is lost, and the batch that made it has not recorded that yet: another upload into
    /// the directory waits.
    @Test func aNewDirectoryThatIsJustBeingLost() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let root = inode(fixture.store.tree.root.number)
        let thread = Locked<TestThread?>(nil)
        let isLost = Locked(false)
        let outcome = Locked<Bool?>(nil)
        defer { syncs.stopObserving() }
        syncs.observe { call throws(SystemError) in
            guard case .file(let number) = call, outcome.withLock({ $0 }) == nil else { return }
            if inode(number) == root,
                isLost.withLock({ lost in
                    defer { lost = true }; return !lost
                })
            {
                throw RecordedSyncs.failure
            }
            guard isLost.withLock({ $0 }), thread.withLock({ $0 == nil }) else { return }
            thread.withLock {
                $0 = TestThread {
                    let stored = try? fixture.publish("a/2", .one)
                    let isStored = (try? stored == .committed("a/2")) ?? false
                    outcome.withLock { $0 = isStored }
                }
            }
            // Long enough for a caller that does not wait to return.
            let end = monotonicNanoseconds() + 300_000_000
            while outcome.withLock({ $0 }) == nil, monotonicNanoseconds() < end { sched_yield() }
        }
        #expect(try fixture.failure("a/1", .one) == .storageFailed)
        thread.withLock { $0 }?.join()
        #expect(outcome.withLock { $0 } == false)
    }

    /// If another process removes a directory and an upload makes it again, the directories below it are new as well.
    /// The store must forget what it knew about the removed directories.
    @Test func whatWasBelowOneThatWasRemoved() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        try fixture.publish("a/b/c/1", .one)
        TemporaryDirectory.remove(fixture.path("a/b"))
        #expect(try synced(fixture) { try fixture.publish("a/b/2", .one) } == ["a", "a/b"])
        try Files.makeDirectory(fixture.path("a/b/c"))
        #expect(try synced(fixture) { try fixture.publish("a/b/c/3", .one) } == ["a/b", "a/b/c"])
        #expect(try synced(fixture) { try fixture.publish("a/b/c/4", .one) } == ["a/b/c"])
    }

    /// The batch that made the directory receives the sync error; another batch that uses the directory syncs the same
    /// names without an error.
    @Test func oneThatAnotherBatchCouldNotSync() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let (tree, committer, path) = (fixture.store.tree, fixture.store.incoming.committer, try RelativePath("a"))
        let (maker, other) = (BatchDirectories(tree, committer), BatchDirectories(tree, committer))
        _ = try maker.open(path)
        _ = try other.open(path)
        syncs.observe { _ throws(SystemError) in throw RecordedSyncs.failure }
        #expect(throws: Failure.self) { try maker.commit(since: 0) }
        syncs.observe { _ throws(SystemError) in }
        let error = #expect(throws: Failure.self) { try other.commit(since: 0) }
        #expect(error?.code == .storageFailed)
        #expect(!committer.directories.contains(path))
    }

    /// The kernel reports a failure once per descriptor, so two batches must not share one.
    @Test func theTopHasADescriptorForEachBatch() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let committer = fixture.store.incoming.committer
        let directories = (0..<2).map { _ in BatchDirectories(fixture.store.tree, committer) }
        let opened = try directories.map { try $0.open(nil) }
        #expect(Set(opened.map(\.number) + [fixture.store.tree.root.number]).count == 3)
        #expect(try directories[0].open(nil) === opened[0])
    }
}
