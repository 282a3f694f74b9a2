internal import CLinux
import Glibc
import TransferSystem

extension DirectoryHandle {
    /// Opens the directory that everything is stored in, making it where it is missing.
    ///
    /// - Parameters:
    ///   - path: of this machine; its parent must exist.
    ///   - mode: of which the umask leaves its permissions, where it is made.
    ///   - syncs: whether what is in it is to survive a power failure, and so its own name.
    static func openOrMake(
        path: String, mode: mode_t = 0o777, on disk: Disk, syncs: Bool
    ) throws(SystemError) -> DirectoryHandle {
        let isNew = try disk.makeDirectoryIfMissing(AT_FDCWD, path, mode: mode)
        let directory = try DirectoryHandle(path: path, on: disk)
        guard syncs else { return directory }
        do throws(SystemError) {
            try directory.syncAbove()
        } catch {
            // The next attempt would take it for durable.
            if isNew { try? disk.removeDirectory(AT_FDCWD, path) }
            throw error
        }
        return directory
    }

    /// Syncs the directories above, as far as they are on the same file system: whoever made them a moment ago may not have
    /// seen to that. One that may not be read cannot be synced, nor can one on some special file systems (fsync(2)).
    private func syncAbove() throws(SystemError) {
        var (directory, status) = (self, try disk.status(number))
        do throws(SystemError) {
            while true {
                let above = try directory.openDirectory("..")
                let found = try disk.status(above.number)
                guard found.st_dev == status.st_dev, found.st_ino != status.st_ino else { return }
                try above.sync()
                (directory, status) = (above, found)
            }
        } catch {
            guard [EACCES, EINVAL, EROFS].contains(error.errno) else { throw error }
        }
    }

    /// - Returns: whether it was missing.
    func makeDirectoryIfMissing(_ name: String, mode: mode_t) throws(SystemError) -> Bool {
        try disk.makeDirectoryIfMissing(number, name, mode: mode)
    }
}

extension Disk {
    fileprivate func makeDirectoryIfMissing(
        _ directory: Int32, _ name: String, mode: mode_t
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try makeDirectory(directory, name, mode: mode)
            return true
        } catch {
            guard error.isExisting else { throw error }
            return false
        }
    }
}
