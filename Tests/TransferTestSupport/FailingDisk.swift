import Glibc

/// A file system of half a GiB on a loop device, in an image that has room for only a few MiB more than it takes when
/// it is made. Bytes that do not fit are lost when they are written back, and the next sync reports the loss. The file
/// system is unmounted when the object is released.
package final class FailingDisk {
    package enum Kind: String, CaseIterable, Sendable {
        case ext4
        case ext4WithoutJournal
        case xfs

        fileprivate var maker: String {
            switch self {
            case .ext4: "mkfs.ext4 -q -J size=4"
            case .ext4WithoutJournal: "mkfs.ext4 -q -O ^has_journal"
            case .xfs: "mkfs.xfs -q"
            }
        }
    }

    /// The path where the file system is mounted.
    package let path: String
    private let room: String

    private var image: String { room + "/image" }

    /// - Parameters:
    ///   - test: the test that is reported as skipped if the disk cannot be made.
    ///   - room: the number of bytes that fit.
    /// - Returns: nil if mounting is not allowed or the file system cannot be made.
    package init?(
        _ kind: Kind, in temporary: TemporaryDirectory, room: Int = 7 << 20, for test: String = #function
    ) throws {
        path = temporary.path("disk")
        self.room = temporary.path("room")
        guard mkdir(path, 0o755) == 0, mkdir(self.room, 0o755) == 0 else { return nil }
        // If the image takes only the beginning of a write, the loop device reports success. The image takes a single
        // page as a whole or not at all, so with requests of one page every loss is reported.
        let limit = "queue/max_sectors_kb"
        let commands = [
            "mount -t tmpfs -o size=1g tmpfs \(self.room)", "truncate -s 512m \(image)", "\(kind.maker) \(image)",
            "mount -o loop \(image) \(path)",
            "echo 4 > /sys/block/$(basename $(findmnt -n -o SOURCE \(path)))/\(limit)", "sync -f \(path)",
            "mount -o remount,size=$(($(du -k \(image) | cut -f1) + \(room >> 10)))k \(self.room)",
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

    /// Gives the image room for the whole file system from now on.
    package func mend() -> Bool { Self.run("mount -o remount,size=1g \(room)") }

    /// Mounts the file system again, so that reads come from the medium. No process may have a file open on it.
    package func remount() -> Bool { Self.run("umount \(path)") && Self.run("mount -o loop \(image) \(path)") }

    private static func run(_ command: String) -> Bool {
        (try? ChildLaunch.shell("PATH=$PATH:/usr/sbin:/sbin; { \(command); } 2>/dev/null")) == 0
    }
}
