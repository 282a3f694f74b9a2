internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// A file that is found under the name that it is to get: it has two names, or its file system takes both names for one, as those do
/// that ignore case, or it is mounted there. rename(2) changes nothing then.
///
/// To take the old name away is right in the first case alone. In the others it would be the only one.
struct OneFile {
    private let disk: Disk
    private let status: stat

    /// - Parameter status: of the file.
    init(_ disk: Disk, _ status: stat) { (self.disk, self.status) = (disk, status) }

    /// - Returns: false if the file is still found under the new name when it has lost the old one, because it is mounted there: it has
    ///   its old name then.
    func rename(
        _ name: String, in parent: DirectoryHandle, to newName: String, in directory: DirectoryHandle
    ) throws(SystemError) -> Bool {
        status.hasOneName
            ? try renameByThirdName(name, in: parent, to: newName, in: directory)
            : try leaveOneName(name, in: parent, newName, in: directory)
    }

    /// The file has one name, which is written in another way from now on.
    private func renameByThirdName(
        _ name: String, in parent: DirectoryHandle, to newName: String, in directory: DirectoryHandle
    ) throws(SystemError) -> Bool {
        let third = StagedFile.scratchName()
        try disk.rename(parent.number, name, to: (parent.number, third))
        do throws(SystemError) {
            // The kernel may still find the file under the new name, where it keeps in mind what a FUSE file system said before.
            if try directory.status(newName).map(status.isSame) ?? true {
                try disk.rename(parent.number, third, to: (directory.number, newName))
                // Of two names of one file rename(2) leaves both.
                if try parent.status(third) == nil { return true }
            }
            try disk.rename(parent.number, third, to: (parent.number, name))
            return false
        } catch {
            try? disk.rename(parent.number, third, to: (parent.number, name))
            // What is mounted cannot be replaced, and is on another mount.
            guard [EBUSY, EXDEV].contains(error.errno) else { throw error }
            return false
        }
    }

    /// The file has several names, of which these may be two or one.
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
