import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferSystem
import TransferTestSupport

@testable import TransferStore

@Suite struct QuotaTests {
    private static func quota(_ limit: UInt64) -> Quota {
        Quota(limit: limit) { limit, room in
            "\(limit) \(room)"
        } count: { _ in
            Quota.Count(stored: 0)
        }
    }

    /// Counting takes time, and uploads continue meanwhile.
    @Test func whatIsStoredWhileItIsCountedCounts() {
        let counted = Locked<Quota?>(nil)
        let quota = Quota(limit: 100) { _, _ in
            ""
        } count: { _ in
            counted.withLock { $0 }?.stored(5, replacing: 0)
            return Quota.Count(stored: 10)
        }
        counted.withLock { $0 = quota }
        #expect(quota.used == 15)
        counted.withLock { $0 = nil }
    }

    /// If the stored bytes cannot be counted, no space is granted, and earlier counts are kept.
    @Test func whatCannotBeCountedIsNotTakenForNothing() throws {
        let count = Locked<Quota.Count?>(nil)
        let quota = Quota(limit: 100) { _, _ in
            ""
        } count: { _ in
            count.withLock { $0 }
        }
        let error = #expect(throws: Failure.self) { try quota.hold(1) }
        #expect(error?.code == .busy && quota.used == 0)
        count.withLock { $0 = Quota.Count(stored: 90) }
        try quota.hold(9)
        count.withLock { $0 = nil }
        #expect(throws: Failure.self) { try quota.hold(9) }
        #expect(quota.used == 99)
    }

    /// A full quota counts the files again, because other programs may have removed some. Each count looks at every file,
    /// so counts are at least 10 s apart by the quota's own clock.
    @Test func whatSeemsToBeFullIsCountedAnewAfterAWhile() throws {
        let now = Locked<Int64>(0)
        let stored = Locked<UInt64>(100)
        let quota = Quota(limit: 100, clock: { now.withLock { $0 } }) { _, _ in
            ""
        } count: { _ in
            Quota.Count(stored: stored.withLock { $0 })
        }
        #expect(throws: Failure.self) { try quota.hold(1) }
        stored.withLock { $0 = 50 }
        now.withLock { $0 = 9_999_999_999 }
        #expect(throws: Failure.self) { try quota.hold(1) }
        now.withLock { $0 = 10_000_000_000 }
        try quota.hold(50)
        #expect(quota.used == 100)
        now.withLock { $0 = .max }
        #expect(throws: Failure.self) { try quota.hold(1) }
    }

    /// What other servers store under the same limit counts after a while, and counting takes a hundredth of the time.
    @Test func aSharedQuotaIsCountedAgain() throws {
        let now = Locked<Int64>(0)
        let stored = Locked<UInt64>(0)
        let takes = Locked<Int64>(0)
        let quota = Quota(limit: 100, clock: { now.withLock { $0 } }, isShared: true) { _, _ in
            ""
        } count: { _ in
            now.withLock { now in now += takes.withLock { $0 } }
            return Quota.Count(stored: stored.withLock { $0 })
        }
        try quota.hold(1)
        stored.withLock { $0 = 60 }
        now.withLock { $0 = 9_999_999_999 }
        try quota.hold(1)
        #expect(quota.used == 2)
        now.withLock { $0 = 10_000_000_000 }
        takes.withLock { $0 = 1_000_000_000 }
        try quota.hold(1)
        #expect(quota.used == 63)
        stored.withLock { $0 = 70 }
        now.withLock { $0 += 99_999_999_999 }
        try quota.hold(1)
        #expect(quota.used == 64)
        now.withLock { $0 += 1 }
        #expect(throws: Failure.self) { try quota.hold(31) }
        #expect(quota.used == 74)
    }

    /// The server has space for the upload, but the client's quota does not.
    @Test(arguments: [false, true]) func whatOneRefusesTheOtherDoesNotHold(isPart: Bool) throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 1000))
        let client = Self.quota(10)
        #expect(throws: Failure.self) {
            if isPart {
                _ = try store.resume(id: .random(), size: 50, quota: client)
            } else {
                _ = try store.stage(id: .random(), size: 50, permissions: nil, quota: client)
            }
        }
        #expect(store.space?.used == 0 && client.used == 0)
    }

    @Test func whatCannotBeReservedHoldsNoMoreThanBefore() throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"))
        let client = Self.quota(.max)
        let id = UploadID.random()
        #expect(throws: Failure.self) { _ = try store.resume(id: id, size: .max - 1, quota: client) }
        #expect(client.used == 0)
        _ = try store.resume(id: id, size: 10, quota: client)
        #expect(throws: Failure.self) { _ = try store.resume(id: id, size: .max - 1, quota: client) }
        #expect(client.used == 10)
    }

    @Test func aPartThatIsRemovedHoldsNothing() throws {
        let temporary = try TemporaryDirectory()
        let store = try FileStore(path: temporary.path("store"), limits: SpaceLimits(quota: 1000))
        let id = UploadID.random()
        _ = try store.resume(id: id, size: 50)
        #expect(store.space?.used == 50)
        try store.removePart(id)
        #expect(store.space?.used == 0)
    }
}
