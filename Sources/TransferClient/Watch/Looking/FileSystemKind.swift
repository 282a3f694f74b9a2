internal import CLinux
import Glibc
import TransferSystem

/// Whether the kernel reports all changes on a file system: it does not know those that other machines make over a
/// network, or the program that provides the file system.
enum FileSystemKind {
    /// The numbers in linux/magic.h, and those of file systems that are not in it: NFS, SMB (three), FUSE, 9P, AFS
    /// (two), Coda, Ceph, GFS2, OCFS2, Lustre, GPFS, and the shared folders of VirtualBox and VMware.
    private static let remote: Set<UInt32> = [
        0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546, 0x0102_1997, 0x5346_414F, 0x6B41_4653, 0x7375_7245,
        0x00C3_6400, 0x0116_1970, 0x7461_636F, 0x0BD0_0BD0, 0x4750_4653, 0x786F_4256, 0xBACB_ACBC,
    ]

    static func isRemote(_ type: Int) -> Bool { remote.contains(UInt32(truncatingIfNeeded: type)) }

    static func isRemote(_ directory: SourceDirectory) -> Bool {
        var type = 0
        return clinux_file_system_type(directory.number, &type) == 0 && isRemote(type)
    }
}
