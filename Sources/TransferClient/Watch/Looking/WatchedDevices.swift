import Glibc
import TransferSystem

/// The file systems of the directories that are watched: a directory can have others mounted below it, of which the kernel does
/// not tell everything. Each is asked for its kind once.
struct WatchedDevices {
    private var known: Set<UInt64> = []

    /// Whether a directory is on a file system that was not seen before, and that others change too.
    ///
    /// - Parameter isRemote: tells the kind of the file system that a directory is on.
    mutating func isRemote(
        _ directory: SourceDirectory, by isRemote: (SourceDirectory) -> Bool = FileSystemKind.isRemote
    ) -> Bool {
        guard let status = try? directory.status() else { return false }
        return isNew(UInt64(status.st_dev)) && isRemote(directory)
    }

    /// - Parameter device: as stat(2) numbers it.
    mutating func isNew(_ device: UInt64) -> Bool { known.insert(device).inserted }
}
