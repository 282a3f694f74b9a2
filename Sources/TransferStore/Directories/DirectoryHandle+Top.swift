internal import CLinux
import Glibc
import TransferSystem

extension DirectoryHandle {
    /// Opens the directory that everything is stored in, creating it if it is missing.
    ///
    /// - Parameters:
    ///   - path: a path on this machine; its parent must exist.
    ///   - mode: the mode of the directory if it is created, before the umask.
    ///   - syncs: whether its content, and so its name, must survive a power failure.
    static func openOrMake(
        path: String, mode: mode_t = 0o777, on disk: Disk, syncs: Bool
    ) throws(SystemError) -> DirectoryHandle {
        let isNew = try disk.makeDirectoryIfMissing(AT_FDCWD, path, mode: mode)
        let directory = try DirectoryHandle(path: path, on: disk)
        guard syncs else { return directory }
        do throws(SystemError) {
            try directory.syncAbove()
        } catch {
            // If the directory stayed, the next attempt would treat its name as durable.
            if isNew { try? disk.removeDirectory(AT_FDCWD, path) }
            throw error
        }
        return directory
    }

    /// Syncs the parents on the same file system: another process may have created them a moment ago without a sync. A
    /// parent that may not be read cannot be synced, nor can some special file systems (fsync(2)).
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

    /// - Returns: whether the directory was missing.
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
