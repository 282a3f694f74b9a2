import Glibc
import TransferProtocol
import TransferTestSupport
import Testing

@testable import TransferStore

/// On a disk that fails under the file system; where mounting is not allowed there is nothing to test with.
@Suite struct FailingDiskTests {
    /// ext4 that believes in 64 MiB, in an image that has room for a few of them: what does not fit is an input/output
    /// error, and not before it is written back. Unmounted when nobody holds it.
    final class FailingDisk {
        let path: String
        private let room: String

        /// - Parameter mkfs: options for mkfs.ext4.
        init?(in temporary: TemporaryDirectory, mkfs: String, for test: String = #function) throws {
            path = temporary.path("disk")
            room = temporary.path("room")
            try Files.makeDirectory(path)
            try Files.makeDirectory(room)
            let commands = [
                "mount -t tmpfs -o size=8m tmpfs \(room)", "truncate -s 64m \(room)/image",
                "mkfs.ext4 -q \(mkfs) \(room)/image", "mount -o loop \(room)/image \(path)",
            ]
            for command in commands where !Self.run(command) {
                print("skipped \(test): cannot run '\(command)'")
                return nil
            }
        }

        deinit {
            umount2(path, Int32(MNT_DETACH))
            umount2(room, Int32(MNT_DETACH))
        }

        private static func run(_ command: String) -> Bool {
            Glibc.system("PATH=$PATH:/usr/sbin:/sbin; { \(command); } 2>/dev/null") == 0
        }
    }

    /// One upload, a few, and many, which are synced in different ways.
    @Test(
        arguments: [(1, 0), (3, 0), (40, 0), (40, .max)] as [(Int, UInt64)], ["-J size=4", "-O ^has_journal"])
    func whatIsNotOnDiskIsNotAcknowledged(_ uploads: (count: Int, dirtyBytes: UInt64), mkfs: String) throws {
        let temporary = try TemporaryDirectory()
        guard let disk = try FailingDisk(in: temporary, mkfs: mkfs) else { return }
        do {
            let calls = Disk(dirtyBytes: { uploads.dirtyBytes })
            let store = try FileStore(path: disk.path, durability: .commit, fileSystem: nil, disk: calls)
            let fixture = StoreFixture(temporary: temporary, store: store, name: "disk")
            #expect(try fixture.publish("good", .one) == .committed("good"))
            let content = [UInt8](repeating: 7, count: (16 << 20) / uploads.count)
            let outcomes = fixture.publish(
                try (0..<uploads.count).map { try fixture.publication("bad\($0)", content) })
            let failed = outcomes.indices.filter { if case .failure = outcomes[$0] { true } else { false } }
            // Where one call syncs everything, nobody knows whose bytes were lost.
            let isGroup = uploads == (40, 0) && store.incoming.fileSystem.syncsAsAWhole
            #expect(isGroup ? failed.count == uploads.count : !failed.isEmpty)
            for index in failed { #expect(Files.status(fixture.path("bad\(index)")) == nil) }
        }
    }
}
