internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The server's own folder, and that no name at the top but its own leads into it: on file systems that ignore case or give
/// each file a second, short name (vfat), others do as well, and which ones only the file system knows.
final class OwnFolder: Sendable {
    private let device: dev_t
    private let inode: ino_t
    /// Names that were looked at and lead elsewhere. They keep doing so, because the folder has all its names from the
    /// beginning.
    private let others = Locked<Set<PathKey>>([])

    /// Names that are remembered; then all are looked at again.
    private static let most = 4096

    init(_ folder: DirectoryHandle) throws(SystemError) {
        let status = try folder.disk.status(folder.number)
        (device, inode) = (status.st_dev, status.st_ino)
    }

    /// - Parameters:
    ///   - path: whose first component is looked at.
    ///   - root: the directory that has the folder.
    /// - Throws: ELOOP where it is the folder.
    func check(_ path: RelativePath, in root: DirectoryHandle) throws(SystemError) {
        // No client can name such a path.
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

    /// Whoever can write there can take the server's place, its keys and its lists.
    ///
    /// - Returns: why the folder is not to be used, as it stands behind a colon; nothing for one that is.
    static func distrust(of folder: DirectoryHandle) -> String? {
        let name = "its folder \(RelativePath.reservedName)"
        guard let status = try? folder.disk.status(folder.number) else { return "\(name) cannot be looked at" }
        guard status.st_uid == geteuid() || status.st_uid == 0 else {
            return "\(name) belongs to another user (\(status.st_uid)); give it to the server's user or store elsewhere"
        }
        guard status.st_mode & 0o022 == 0 else {
            return "others may write in \(name); take that away (chmod go-w), or store elsewhere"
        }
        return nil
    }
}
