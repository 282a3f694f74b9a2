internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The server's own folder, `.transfer`. It rejects paths that lead into it by another name: file systems that ignore
/// case or have short names (vfat) give the folder several names, and only the file system knows which.
final class OwnFolder: Sendable {
    private let device: dev_t
    private let inode: ino_t
    /// Names that lead elsewhere. They always will, because the folder has had all its names from the beginning.
    private let others = Locked<Set<PathKey>>([])

    /// The most names to remember; beyond that number, all are looked up again.
    private static let most = 4096

    init(_ folder: DirectoryHandle) throws(SystemError) {
        let status = try folder.disk.status(folder.number)
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// - Parameters:
    ///   - path: the path whose first component is checked.
    ///   - root: the directory that contains the folder.
    /// - Throws: ELOOP if that component is the folder.
    func check(_ path: RelativePath, in root: DirectoryHandle) throws(SystemError) {
        // Clients cannot send paths into these folders.
        if path.leadsToMail || path.leadsToTrash { return }
        let slash = path.string.utf8.firstIndex(of: UInt8(ascii: "/"))
        let key = PathKey(slash.map { String(path.string[..<$0]) } ?? path.string)
        if others.withLock({ $0.contains(key) }) { return }
        guard let status = try root.status(key.string) else { return }
        guard status.st_dev != device || status.st_ino != inode else { throw SystemError(errno: ELOOP, call: "openat") }
        others.withLock { others in
            if others.count >= Self.most { others.removeAll() }
            others.insert(key)
        }
    }

    /// Checks that only the server's user can write in the folder: another user who can write there could replace the
    /// server's keys and access lists.
    ///
    /// - Returns: the reason not to use the folder, worded to follow a colon; nil if it may be used.
    static func distrust(of folder: DirectoryHandle) -> String? {
        let name = "its folder \(RelativePath.reservedName)"
        guard let status = try? folder.disk.status(folder.number) else { return "\(name) cannot be examined" }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            return "\(name) belongs to another user (\(status.st_uid)); give it to the server's user or store elsewhere"
        }
        guard status.st_mode & 0o022 == 0 else {
            return "other users may write in \(name); remove their write permission (chmod go-w), or store elsewhere"
        }
        return nil
    }
}
