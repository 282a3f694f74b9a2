import CLinux
import Glibc
import TransferModel

@testable import TransferClient

/// A look at a file with these attributes.
func look(_ size: Int, inode: UInt64 = 1, modified: Int = 1_000) -> SettlingFiles.Look {
    var status = stat()
    status.st_dev = 1
    status.st_ino = ino_t(inode)
    status.st_size = size
    status.st_mtim = timespec(tv_sec: modified, tv_nsec: 7)
    return SettlingFiles.Look(status)
}

/// A time some seconds after a fixed start.
func second(_ seconds: Double) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000_000_000) + .seconds(seconds) }
