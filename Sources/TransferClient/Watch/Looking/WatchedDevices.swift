import Glibc
import TransferSystem

/// The file systems of the watched directories. Other file systems can be mounted below the directory, and the kernel
/// does not report all changes on some of them. The type of each is read once.
struct WatchedDevices {
    private var known: Set<UInt64> = []

    /// Whether a directory is on a file system that was not seen before, and that other machines change too.
    ///
    /// - Parameter isRemote: whether other machines may change the file system of a directory.
    mutating func isRemote(
        _ directory: SourceDirectory, by isRemote: (SourceDirectory) -> Bool = FileSystemKind.isRemote
    ) -> Bool {
        guard let status = try? directory.status() else { return false }
        return isNew(UInt64(status.st_dev)) && isRemote(directory)
    }

    /// - Parameter device: the number from stat(2).
    mutating func isNew(_ device: UInt64) -> Bool { known.insert(device).inserted }
}
