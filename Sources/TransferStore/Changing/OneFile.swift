internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Renames a file that is already found under its new name: it has both names, or its file system treats them as one
/// name, for example because it ignores case, or the file is mounted at the new name. In these cases rename(2) does
/// nothing.
///
/// The old name may be removed only in the first case. In the other cases it is the file's only name.
struct OneFile {
    private let disk: Disk
    private let status: stat

    /// - Parameter status: the file's status.
    init(_ disk: Disk, _ status: stat) { (self.disk, self.status) = (disk, status) }

    /// - Returns: false if the file is found under the new name even without the old one, because it is mounted there.
    ///   It then keeps its old name.
    func rename(
        _ name: String, in parent: DirectoryHandle, to newName: String, in directory: DirectoryHandle
    ) throws(SystemError) -> Bool {
        status.hasOneName
            ? try renameByThirdName(name, in: parent, to: newName, in: directory)
            : try leaveOneName(name, in: parent, newName, in: directory)
    }

    /// Renames a file with one name by way of a temporary name.
    private func renameByThirdName(
        _ name: String, in parent: DirectoryHandle, to newName: String, in directory: DirectoryHandle
    ) throws(SystemError) -> Bool {
        let third = StagedFile.scratchName()
        try disk.rename(parent.number, name, to: (parent.number, third))
        do throws(SystemError) {
            // The kernel may still find the file under the new name, because it caches what a FUSE file system has
            // reported.
            if try directory.status(newName).map(status.isSame) ?? true {
                try disk.rename(parent.number, third, to: (directory.number, newName))
                // If both are names of one file, rename(2) leaves both.
                if try parent.status(third) == nil { return true }
            }
            try disk.rename(parent.number, third, to: (parent.number, name))
            return false
        } catch {
            try? disk.rename(parent.number, third, to: (parent.number, name))
            // A mounted file cannot be replaced, and is on another mount.
            guard [EBUSY, EXDEV].contains(error.errno) else { throw error }
            return false
        }
    }

    /// Removes the old name of a file with several names. If the file system treats both names as the same entry, for
    /// example because it ignores case, removing the old name removes the new one too, and it is created again.
    private func leaveOneName(
        _ name: String, in parent: DirectoryHandle, _ newName: String, in directory: DirectoryHandle
    ) throws(SystemError) -> Bool {
        let file = try parent.openFile(name, flags: clinux_o_path | O_NOFOLLOW)
        try parent.unlink(name)
        guard try directory.status(newName) == nil else { return true }
        let number = file.number
        try disk.link(number, "/proc/self/fd/\(number)", flags: AT_SYMLINK_FOLLOW, to: (directory.number, newName))
        return true
    }
}
