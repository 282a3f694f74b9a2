import Glibc
import Synchronization
import Testing
import TransferPorts
import TransferSystem

@testable import TransferStore

@Suite struct GroupSyncTests {
    /// Counts calls, and can make each fail or wait.
    private final class Disk: Sendable {
        let calls = Atomic(0)
        let running = Atomic(0)

        /// - Parameter body: receives the number of the call, from 1.
        func sync(_ body: (Int) throws(SystemError) -> Void) throws(SystemError) {
            let others = running.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
            #expect(others == 0, "two calls at once")
            defer { running.subtract(1, ordering: .acquiringAndReleasing) }
            try body(calls.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue)
        }
    }

    private static let failure = SystemError(errno: EIO, call: "syncfs")

    /// Runs `body` with a group whose first call ends when `count` callers have asked for a call. The first call fails
    /// if `fails` is set.
    private func withGroup(
        on disk: Disk, firstWaitsFor count: Int, thenFails fails: Bool = false, _ body: (GroupSync) -> Void
    ) {
        let waiting = Locked<GroupSync?>(nil)
        let group = GroupSync { () throws(SystemError) in
            try disk.sync { number throws(SystemError) in
                guard number == 1, let group = waiting.withLock({ $0 }) else { return }
                #expect(waits { group.asked == count })
                if fails { throw Self.failure }
            }
        }
        waiting.withLock { $0 = group }
        // The closure holds the group, and the group holds the closure.
        defer { waiting.withLock { $0 = nil } }
        body(group)
    }

    private func error(_ group: GroupSync, since failures: Int) -> SystemError? {
        do throws(SystemError) {
            try group.run(since: failures)
            return nil
        } catch {
            return error
        }
    }

    @Test func oneAfterTheOther() throws {
        let disk = Disk()
        let group = GroupSync { () throws(SystemError) in try disk.sync { _ throws(SystemError) in } }
        for count in 1...3 {
            try group.run(since: 0)
            #expect(disk.calls.load(ordering: .relaxed) == count)
        }
        #expect(group.failures == 0)
    }

    /// The first call covers its caller; the next one covers all callers that asked in the meantime.
    @Test func whoWaitsSharesOneCall() {
        let disk = Disk()
        withGroup(on: disk, firstWaitsFor: 6) { group in
            inParallel(on: 6, 6) { _ in #expect(error(group, since: 0) == nil) }
        }
        #expect(disk.calls.load(ordering: .relaxed) == 2)
    }

    /// No caller returns before the end of a call that began after it asked.
    @Test func nobodyIsLeftOut() {
        let disk = Disk()
        let written = Atomic(0)
        let durable = Atomic(0)
        let group = GroupSync { () throws(SystemError) in
            try disk.sync { _ throws(SystemError) in
                let covered = written.load(ordering: .acquiring)
                sched_yield()
                durable.store(covered, ordering: .releasing)
            }
        }
        inParallel(on: 8, 8) { _ in
            for _ in 0..<200 {
                let mine = written.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
                #expect(error(group, since: 0) == nil)
                #expect(durable.load(ordering: .acquiring) >= mine)
            }
        }
        #expect(disk.calls.load(ordering: .relaxed) <= 1600)
    }

    /// A failed call may concern the bytes of any caller: those that wait for it, those that wait for the next one, and
    /// those that will ask later. Only files that are staged afterwards are not concerned.
    @Test func aFailureIsEverybodys() {
        withGroup(on: Disk(), firstWaitsFor: 4, thenFails: true) { group in
            inParallel(on: 4, 4) { _ in #expect(error(group, since: 0) == Self.failure) }
            #expect(group.failures == 1)
            #expect(error(group, since: 0) == Self.failure)
            #expect(throws: Self.failure) { try group.check(since: 0) }
            #expect(error(group, since: 1) == nil)
            #expect(throws: Never.self) { try group.check(since: 1) }
        }
    }
}
