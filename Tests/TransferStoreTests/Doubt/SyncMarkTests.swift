import CLinux
import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

/// Doubt about syncs outlives the process, but not the run of the kernel.
@Suite struct SyncMarkTests {
    private static let simpleDisk = FileSystem(isMemory: false, syncsAsAWhole: false)

    private let temporary: TemporaryDirectory
    private let folder: DirectoryHandle

    init() throws {
        temporary = try TemporaryDirectory()
        folder = try DirectoryHandle(path: temporary.path, on: Disk())
    }

    private func mark(_ boot: String = "now") throws -> SyncMark {
        try SyncMark(in: .own(folder), boot: boot)
    }

    private var names: Set<String> { Files.names(temporary.path) }

    @Test func itIsSetWhileAnythingIsSynced() throws {
        let mark = try mark()
        #expect(names.isEmpty)
        let first = try mark.begin()
        #expect(names == ["sync-running-now"])
        let second = try mark.begin()
        mark.end(first, hasFailed: false)
        #expect(names == ["sync-running-now"])
        mark.end(second, hasFailed: false)
        #expect(names == ["sync-idle"])
        let third = try mark.begin()
        #expect(names == ["sync-running-now"])
        mark.end(third, hasFailed: false)
        #expect(!mark.isInDoubt)
        mark.tidy()
        #expect(names.isEmpty)
    }

    @Test func aFailureStays() throws {
        let mark = try mark()
        mark.end(try mark.begin(), hasFailed: true)
        #expect(mark.isInDoubt)
        mark.end(try mark.begin(), hasFailed: false)
        mark.tidy()
        #expect(mark.isInDoubt && names == ["sync-running-now"])
        #expect(try self.mark().isInDoubt)
    }

    /// A killed process never ends its sync.
    @Test func oneThatNeverEnded() throws {
        let mark = try mark()
        _ = try mark.begin()
        #expect(!mark.isInDoubt)
        #expect(try self.mark().isInDoubt)
    }

    @Test func theNextRunOfTheKernelKnowsNothing() throws {
        let mark = try mark("before")
        mark.end(try mark.begin(), hasFailed: true)
        let next = try self.mark("now")
        #expect(!next.isInDoubt && names.isEmpty)
        next.end(try next.begin(), hasFailed: false)
        #expect(names == ["sync-idle"])
    }

    @Test(arguments: [("unknown", "now"), ("now", "unknown"), ("unknown", "unknown")])
    func aRunThatIsNotKnownMayBeTheSame(before: String, now: String) throws {
        let mark = try mark(before)
        mark.end(try mark.begin(), hasFailed: true)
        #expect(try self.mark(now).isInDoubt)
    }

    @Test func theKernelTellsItsRun() {
        #expect(BootID.current.utf8.count == 36)
        #expect(BootID.current == BootID.current)
    }

    @Test func withoutTheMarkNothingIsSynced() throws {
        let fixture = try StoreFixture(fileSystem: Self.simpleDisk, syncs: RecordedSyncs())
        try Files.makeDirectory(fixture.path(".transfer/sync-idle"))
        #expect(try fixture.failure("a", .one) == .pathConflict)
        #expect(fixture.visible.isEmpty && !fixture.store.isInDoubt)
        rmdir(fixture.path(".transfer/sync-idle"))
        #expect(try fixture.publish("a", .one) == .committed("a"))
    }

    /// A thread whose sync failed may not have recorded the failure yet.
    @Test func whoFindsWaitsForOlderSyncs() throws {
        let mark = try mark()
        let older = try mark.begin()
        let moment = mark.moment
        let newer = try mark.begin()
        let asker = Atomic<Int32>(0)
        let answer = Locked<Bool?>(nil)
        let thread = TestThread {
            asker.store(clinux_thread(), ordering: .sequentiallyConsistent)
            let isInDoubt = mark.isInDoubt(about: moment)
            answer.withLock { $0 = isInDoubt }
        }
        // Waits until the thread sleeps, or has answered too early.
        while answer.withLock({ $0 == nil }), !Self.sleeps(asker.load(ordering: .sequentiallyConsistent)) {
            sched_yield()
        }
        #expect(answer.withLock { $0 } == nil)
        mark.end(older, hasFailed: true)
        thread.join()
        #expect(answer.withLock { $0 } == true)
        mark.end(newer, hasFailed: false)
    }

    /// Whether a thread of this process sleeps (proc_pid_stat(5), the third field).
    private static func sleeps(_ thread: Int32) -> Bool {
        guard thread != 0, let status = Files.read("/proc/self/task/\(thread)/stat") else { return false }
        let end = status.lastIndex(of: UInt8(ascii: ")")) ?? status.startIndex
        return status[end...].dropFirst(2).first == UInt8(ascii: "S")
    }

    // MARK: Shared by several processes

    private func shared() throws -> SyncMark {
        try SyncMark(in: .shared(PrivateFolder(["parts"], in: folder)), boot: "now")
    }

    private var sharedNames: Set<String> { Files.names(temporary.path("parts")) }

    @Test func theFolderIsMadeForTheFirstSync() throws {
        let mark = try shared()
        #expect(names.isEmpty)
        mark.end(try mark.begin(), hasFailed: false)
        #expect(sharedNames.count == 1)
        mark.tidy()
        #expect(sharedNames.isEmpty)
    }

    /// The kernel releases a lock when its process ends; here the lock ends with the mark.
    @Test func onlyThoseOfTheDeadSaySomething() throws {
        var living: SyncMark? = try shared()
        _ = try living?.begin()
        #expect(try !shared().isInDoubt)
        #expect(sharedNames.count == 1)
        living = nil
        #expect(try shared().isInDoubt)
    }

    @Test func idleOnesOfTheDeadAreRemoved() throws {
        var mark: SyncMark? = try shared()
        mark?.end(try #require(mark).begin(), hasFailed: false)
        _ = try shared()
        #expect(sharedNames.count == 1)
        mark = nil
        _ = try shared()
        #expect(sharedNames.isEmpty)
    }

    @Test func oneThatSomebodyRemovedIsMadeAgain() throws {
        let mark = try shared()
        mark.end(try mark.begin(), hasFailed: false)
        for name in sharedNames { unlink(temporary.path("parts/\(name)")) }
        rmdir(temporary.path("parts"))
        mark.end(try mark.begin(), hasFailed: true)
        #expect(mark.isInDoubt && sharedNames.count == 1)
    }
}
