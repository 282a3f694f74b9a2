internal import CLinux
import Glibc
import TransferSystem

/// A private folder in a directory where other users may create files. The folder is used only if this user owns it and other users have
/// no permissions on it; otherwise another user could read its files, or add some.
struct PrivateFolder: Sendable {
    private let parent: DirectoryHandle

    /// Possible names, in order: the first one that is free, or has a private folder, is used.
    private let names: [String]

    /// How often it is created again when other processes of this user remove it because it is empty.
    private static let mostAttempts = 100

    /// Permission bits of the group and of other users.
    private static let others: mode_t = 0o077

    init(_ names: [String], in parent: DirectoryHandle) {
        (self.parent, self.names) = (parent, names)
    }

    /// - Returns: nil if no private folder exists, even if other files or folders have these names.
    func openIfThere() throws(SystemError) -> DirectoryHandle? {
        for name in names { if let folder = try open(name) { return folder } }
        return nil
    }

    /// - Throws: EPERM if other users' files have all of the names.
    func openOrMake() throws(SystemError) -> DirectoryHandle {
        for name in names { if let folder = try openOrMake(name) { return folder } }
        throw SystemError(errno: EPERM, call: "openat")
    }

    /// - Returns: nil if another user's file has the name.
    private func openOrMake(_ name: String) throws(SystemError) -> DirectoryHandle? {
        for _ in 1...Self.mostAttempts {
            if let folder = try open(name) { return folder }
            let isMade = try parent.makeDirectoryIfMissing(name, mode: 0o700)
            if let folder = try open(name) { return folder }
            // Another process may have removed the folder after it was created or seen.
            let isGone = try parent.status(name) == nil
            guard isMade || isGone else { return nil }
        }
        return nil
    }

    /// Removes the folder if it is empty.
    func removeIfEmpty() {
        for name in names where (try? open(name)) ?? nil != nil {
            try? parent.disk.removeDirectory(parent.number, name)
        }
    }

    private func open(_ name: String) throws(SystemError) -> DirectoryHandle? {
        do throws(SystemError) {
            let folder = try parent.openDirectory(name)
            return try isPrivate(try parent.disk.status(folder.number)) ? folder : nil
        } catch {
            guard [ENOENT, ENOTDIR, ELOOP, EACCES].contains(error.errno) else { throw error }
            return nil
        }
    }

    /// Some file systems give all files one owner or one mode: FAT, shares of other systems, NFS for root. There, a
    /// folder counts as this user's if it has the owner of a file that this user creates.
    private func isPrivate(_ status: stat) throws(SystemError) -> Bool {
        if Self.isClosed(status) { return true }
        let name = "\(names[0])-\(UInt64.random(in: .min ... .max))"
        // Another user may replace the name, so the open file is examined.
        let file = try parent.openFile(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: 0o600)
        defer { try? parent.unlink(name) }
        let new = try parent.disk.status(file.number)
        return !Self.isClosed(new) && new.st_uid == status.st_uid
    }

    private static func isClosed(_ status: stat) -> Bool { status.st_uid == geteuid() && status.st_mode & others == 0 }
}
