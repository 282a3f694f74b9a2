internal import CLinux
import Glibc
import TransferSystem

/// The file systems of the directories that are watched: a directory can have others mounted below it, of which the kernel does
/// not tell everything. Each is asked for its kind once.
struct WatchedDevices {
    private var known: Set<UInt64> = []

    /// Whether a directory is on a file system that was not seen before, and that others change too.
    ///
    /// - Parameters:
    ///   - path: of the directory; one that cannot be looked at is on none.
    ///   - isRemote: tells the kind of the file system that a path is on.
    mutating func isRemote(_ path: String, by isRemote: (String) -> Bool = FileSystemKind.isRemote) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return isNew(UInt64(status.st_dev)) && isRemote(path)
    }

    /// - Parameter device: as stat(2) numbers it.
    mutating func isNew(_ device: UInt64) -> Bool { known.insert(device).inserted }
}
