internal import CLinux
import Glibc
package import TransferModel
import TransferSystem

/// Which processes flock(2) keeps out on a file system.
package enum LockReach: Equatable, Sendable {
    /// Other processes of this machine.
    case machine
    /// Processes of all machines that have mounted the file system. A database with a write-ahead log may be on it if
    /// `isCoherent`: mapped pages are the same for all machines (sqlite.org/wal.html).
    case network(isCoherent: Bool)
    /// It is unknown whether other machines are kept out. The text has the reason, and what to do about it.
    case unknown(String)

    /// File system types as in mountinfo (proc_pid_mountinfo(5)) whose locks hold within one machine.
    // Text: words of the kernel, in ASCII.
    private static let local: Set<Substring> = [
        "ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "jfs", "nilfs2", "tmpfs", "ramfs", "overlay",
        "vfat", "exfat",
        "ntfs3", "hfsplus", "udf",
    ]

    /// User-space file systems whose documentation says that they pass flock(2) on to a server that all machines share.
    // Text: words of the kernel, in ASCII.
    private static let passingOn: Set<Substring> = [
        "fuse.juicefs", "fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.mfs", "fuse.moosefs", "fuse.lizardfs",
        "fuse.saunafs",
    ]

    /// - Parameter mount: the directory's mount; nil if it is unknown.
    init(_ mount: Mount?) {
        guard let mount else {
            self = .unknown("its file system cannot be determined")
            return
        }
        // Text: words of the kernel, in ASCII.
        let options = Set(mount.options.split(separator: ","))
        switch mount.type {
        case "ceph": self = .network(isCoherent: true)
        case "gfs2", "ocfs2": self = .network(isCoherent: true)
        case "nfs4": self = Self.ofNFS(options)
        case "nfs":
            let isFour = options.contains { $0.hasPrefix("vers=4") }
            let reason = "NFS before version 4 keeps the locks of a machine that has died; mount it with vers=4.2"
            self = isFour ? Self.ofNFS(options) : .unknown(reason)
        case "lustre":
            self =
                options.contains("flock")
                ? .network(isCoherent: true)
                : .unknown("Lustre supports such locks only if it is mounted with the option flock")
        case let type where Self.passingOn.contains(type): self = .network(isCoherent: false)
        case let type where Self.local.contains(type): self = .machine
        default: self = .unknown("\(mount.type) is not known to support locks between machines")
        }
    }

    // Text: words of the kernel, in ASCII.
    private static func ofNFS(_ options: Set<Substring>) -> LockReach {
        // nfs(5): with these options flock(2) is local to the machine.
        if options.contains("nocto") {
            return .unknown("it is mounted so that the client's cache of files may be outdated; mount it without nocto")
        }
        let isLocal = !options.isDisjoint(with: ["local_lock=flock", "local_lock=all", "nolock"])
        return isLocal
            ? .unknown("it is mounted so that locks hold on one machine only; mount it with local_lock=none")
            : .network(isCoherent: false)
    }

    /// A mounted file system as the kernel describes it.
    struct Mount: Equatable {
        let type: Substring

        /// The options of the mount and of the file system, separated by commas.
        let options: String

        /// Finds a mount by its ID. A device number would not do, because btrfs reports a different one for each
        /// subvolume.
        ///
        /// - Parameters:
        ///   - number: the mount ID, as in the "mnt_id:" line of fdinfo (proc_pid_fdinfo(5)).
        ///   - text: the content of /proc/self/mountinfo.
        init?(_ number: Substring, in text: String) {
            let lines = text.split(separator: "\n").map { $0.split(separator: " ") }
            guard let line = lines.last(where: { $0.count > 5 && $0[0] == number }),
                let end = line.firstIndex(of: "-"), end + 1 < line.count
            else { return nil }
            type = line[end + 1]
            options = line[5] + "," + (line[(end + 1)...].last ?? "")
        }
    }
}

extension DirectoryLock {
    /// Determines which processes the lock keeps out, and tries a lock.
    ///
    /// - Throws: `storageFailed` if two descriptors of this process get the lock at once, or neither does.
    package func reach() throws(Failure) -> LockReach {
        try attempt("try a lock in the server's folder") { () throws(SystemError) in
            try tryLock()
            let mounts = try Self.text(of: "mountinfo")
            let mark = "mnt_id:\t"
            let line = try Self.text(of: "fdinfo/\(folder.number)").split(separator: "\n").first { $0.hasPrefix(mark) }
            return LockReach(line.flatMap { LockReach.Mount($0.dropFirst(mark.count), in: mounts) })
        }
    }

    private static func text(of name: String) throws(SystemError) -> String {
        let file = try OwnFile(reading: "/proc/self/\(name)", atMost: 4 << 20)
        return String(decoding: file?.content ?? [], as: UTF8.self)
    }

    /// Locks a temporary file, and checks that a second descriptor cannot lock it too.
    private func tryLock() throws(SystemError) {
        let name = "\(Self.name)-trial-\(UInt64.random(in: .min ... .max))"
        defer { try? folder.unlink(name) }
        let first = try folder.openFile(name, flags: O_RDWR | O_CREAT, mode: 0o600)
        let second = try folder.openFile(name, flags: O_RDWR)
        let (one, other) = (first.number, second.number)
        try system("flock") { flock(one, LOCK_EX | LOCK_NB) }
        guard flock(other, LOCK_EX | LOCK_NB) != 0 else { throw SystemError(errno: ENOLCK, call: "flock") }
    }
}
