import Glibc
import Testing
import TransferPorts
import TransferModel
import TransferTestSupport

@testable import TransferStore

/// Tests on a disk that fails below the file system; skipped where mounting is not allowed.
@Suite struct FailingDiskTests {
    /// One upload, a few, and many, which are synced in different ways.
    @Test(
        arguments: [(1, 0), (3, 0), (40, 0), (40, .max)] as [(Int, UInt64)], FailingDisk.Kind.allCases)
    func whatIsNotOnDiskIsNotAcknowledged(
        _ uploads: (count: Int, dirtyBytes: UInt64), kind: FailingDisk.Kind
    ) throws {
        let temporary = try TemporaryDirectory()
        guard let disk = try FailingDisk(kind, in: temporary) else { return }
        do {
            let calls = Disk(dirtyBytes: { uploads.dirtyBytes })
            let store = try FileStore(path: disk.path, durability: .commit, fileSystem: nil, disk: calls)
            let fixture = StoreFixture(temporary: temporary, store: store, name: "disk")
            #expect(try fixture.publish("good", .one) == .committed("good"))
            let content = [UInt8](repeating: 7, count: (16 << 20) / uploads.count)
            let outcomes = fixture.publish(
                try (0..<uploads.count).map { try fixture.publication("bad\($0)", content) })
            let failed = outcomes.indices.filter { if case .failure = outcomes[$0] { true } else { false } }
            // If one call syncs everything, the error does not say whose bytes were lost.
            let isGroup = uploads == (40, 0) && store.incoming.fileSystem.syncsAsAWhole
            #expect(isGroup ? failed.count == uploads.count : !failed.isEmpty)
            for index in failed { #expect(Files.status(fixture.path("bad\(index)")) == nil) }
        }
    }
}
