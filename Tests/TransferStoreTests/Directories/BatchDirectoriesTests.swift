import CLinux
import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Which directories are synced so that an upload's path survives, whoever made them.
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

    /// Directories that were synced, by what is there under their paths.
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
        // Removed behind the store's back.
        for name in ["1", "2"] { unlink(fixture.path("a/b/c/\(name)")) }
        rmdir(fixture.path("a/b/c"))
        #expect(try synced(fixture) { try fixture.publish("a/b/c/4", .one) } == ["a/b", "a/b/c"])
    }

    /// Nobody knows whether a directory that was made is on disk when it could not be synced.
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
            #expect(error?.message.contains("removed") == true)
        }
        #expect(try fixture.publish("4", .one) == .committed("4"))
        unlink(fixture.path("a/b/1"))
        rmdir(fixture.path("a/b"))
        rmdir(fixture.path("a"))
        #expect(try synced(fixture) { try fixture.publish("a/b/1", .one) } == ["", "a", "a/b"])
        #expect(try fixture.publish("a/b/1", .one) == .committed("a/b/1"))
        #expect(try fixture.publish("a/b/2", .one) == .committed("a/b/2"))
    }

    /// A sync that could not begin has lost nothing: a directory that was made for it is as good as any that is there.
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

    /// The next sync that fails may be told of the loss of its name, whatever that sync is about, and the ones behind it are not.
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

    /// One that is made and whose batch comes to nothing before any sync.
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

    /// The name of a new directory is lost, and the batch that made it has not come to say so: who stores in it meanwhile waits.
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
            // Long enough for whoever does not wait.
            let end = monotonicNanoseconds() + 300_000_000
            while outcome.withLock({ $0 }) == nil, monotonicNanoseconds() < end { sched_yield() }
        }
        #expect(try fixture.failure("a/1", .one) == .storageFailed)
        thread.withLock { $0 }?.join()
        #expect(outcome.withLock { $0 } == false)
    }

    /// One that somebody else has removed and an upload has made again takes with it what was known of those below:
    /// they are others by now, whoever made them.
    @Test func whatWasBelowOneThatWasRemoved() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        try fixture.publish("a/b/c/1", .one)
        TemporaryDirectory.remove(fixture.path("a/b"))
        #expect(try synced(fixture) { try fixture.publish("a/b/2", .one) } == ["a", "a/b"])
        try Files.makeDirectory(fixture.path("a/b/c"))
        #expect(try synced(fixture) { try fixture.publish("a/b/c/3", .one) } == ["a/b", "a/b/c"])
        #expect(try synced(fixture) { try fixture.publish("a/b/c/4", .one) } == ["a/b/c"])
    }

    /// The batch that made it hears of the failure, and another one that goes there syncs the same names without one.
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

    /// A failure is told through each descriptor once, so no two batches share one.
    @Test func theTopHasADescriptorForEachBatch() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: syncs)
        let committer = fixture.store.incoming.committer
        let directories = (0..<2).map { _ in BatchDirectories(fixture.store.tree, committer) }
        let opened = try directories.map { try $0.open(nil) }
        #expect(Set(opened.map(\.number) + [fixture.store.tree.root.number]).count == 3)
        #expect(try directories[0].open(nil) === opened[0])
    }
}
