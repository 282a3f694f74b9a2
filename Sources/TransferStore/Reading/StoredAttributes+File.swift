internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferPorts
import TransferSystem

extension StoredAttributes {
    /// - Returns: nil for anything other than a file or folder.
    init?(_ status: stat) {
        guard status.isFile || status.isDirectory else { return nil }
        self.init(of: status)
    }

    /// The attributes of a symbolic link, which has no content.
    init(link status: stat) { self.init(of: status) }

    private init(of status: stat) {
        let version = ContentVersion(status)
        self.init(
            isDirectory: status.isDirectory, size: status.isFile ? version.size : 0,
            modified: Timestamp(
                seconds: Int64(status.st_mtim.tv_sec),
                nanoseconds: UInt32(clamping: min(max(0, status.st_mtim.tv_nsec), 999_999_999))),
            permissions: UInt16(truncatingIfNeeded: status.st_mode & 0o777), version: version,
            hasGivenTime: status.st_mtim.tv_sec != status.st_ctim.tv_sec
                || status.st_mtim.tv_nsec != status.st_ctim.tv_nsec)
    }
}

extension WholeEntry {
    /// - Parameter name: the last component of the path.
    /// - Returns: nil if the entry is gone, or is no file, folder or link.
    init?(_ path: RelativePath, named name: String, in directory: DirectoryHandle) throws(SystemError) {
        guard let status = try directory.status(name) else { return nil }
        try self.init(path, named: name, status, in: directory)
    }

    /// - Parameter status: the status of the entry.
    init?(
        _ path: RelativePath, named name: String, _ status: stat, in directory: DirectoryHandle
    ) throws(SystemError) {
        let object = FileObject(status)
        if status.isLink {
            let target = try Self.unlessGone { () throws(SystemError) in
                try directory.disk.readLink(directory.number, name)
            }
            guard let target, !target.isEmpty else { return nil }
            self.init(
                path, StoredAttributes(link: status), target: target, object: object,
                extra: ExtraAttributes(owner: status.owner))
            return
        }
        guard let attributes = StoredAttributes(status) else { return nil }
        let found = try Self.extended(name, in: directory)
        self.init(
            path, attributes, object: object, names: attributes.isDirectory ? 1 : UInt32(clamping: status.st_nlink),
            extra: ExtraAttributes(owner: status.owner, extended: found.extended), isPartial: found.isPartial)
    }

    /// - Returns: nil attributes if they cannot be read or the file system does not support them, to distinguish that
    ///   from an empty list.
    private static func extended(
        _ name: String, in directory: DirectoryHandle
    ) throws(SystemError) -> (extended: [ExtraAttributes.Extended]?, isPartial: Bool) {
        let found = try unlessGone { () throws(SystemError) -> ([ExtraAttributes.Extended]?, Bool) in
            if directory.disk.keepsNoExtended(directory.number, name) { return ([], false) }
            do throws(SystemError) {
                let file = try directory.openFile(name, flags: O_RDONLY | O_NONBLOCK)
                return (try directory.disk.extended(file.number), false)
            } catch {
                guard [EACCES, EPERM, E2BIG].contains(error.errno) else { throw error }
                return (nil, true)
            }
        }
        return found ?? (nil, false)
    }

    private static func unlessGone<T>(_ body: () throws(SystemError) -> T) throws(SystemError) -> T? {
        do throws(SystemError) {
            return try body()
        } catch {
            // The entry was removed or replaced meanwhile.
            guard [ENOENT, ELOOP, EINVAL, ENXIO, ENOTDIR].contains(error.errno) else { throw error }
            return nil
        }
    }
}

extension FileObject {
    init(_ status: stat) { self.init(volume: UInt64(status.st_dev), number: UInt64(status.st_ino)) }
}

extension stat {
    var owner: ExtraAttributes.Owner { ExtraAttributes.Owner(user: st_uid, group: st_gid) }
}
