import Glibc

/// A file system on a loop device that believes in half a GiB, in an image that has room for a few MiB more than it takes
/// when it is made: what does not fit is lost when it is written back, and said by the next sync. Unmounted when nobody
/// holds it.
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

    /// Where it is mounted.
    package let path: String
    private let room: String

    private var image: String { room + "/image" }

    /// - Parameters:
    ///   - test: that says so where the disk cannot be had.
    ///   - room: bytes that fit.
    /// - Returns: nothing where mounting is not allowed or the file system cannot be made.
    package init?(
        _ kind: Kind, in temporary: TemporaryDirectory, room: Int = 7 << 20, for test: String = #function
    ) throws {
        path = temporary.path("disk")
        self.room = temporary.path("room")
        guard mkdir(path, 0o755) == 0, mkdir(self.room, 0o755) == 0 else { return nil }
        // A loop device takes a write of which its file took only the front for one that went well. Of a page nothing is the
        // front: with requests of one page what is lost is told.
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

    /// From now on it has room for all that it believes in.
    package func mend() -> Bool { Self.run("mount -o remount,size=1g \(room)") }

    /// Mounts it anew, so that what is read comes from the medium. Nobody may have a file of it open.
    package func remount() -> Bool { Self.run("umount \(path)") && Self.run("mount -o loop \(image) \(path)") }

    private static func run(_ command: String) -> Bool {
        (try? ChildLaunch.shell("PATH=$PATH:/usr/sbin:/sbin; { \(command); } 2>/dev/null")) == 0
    }
}
