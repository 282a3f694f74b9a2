internal import CLinux
import Glibc
package import TransferModel
import TransferSystem

/// A file, folder or symbolic link with all that is kept of it.
package struct WholeEntry: Sendable {
    package let path: RelativePath
    package let attributes: StoredAttributes

    /// What a symbolic link says; nothing for a file or folder.
    package let target: [UInt8]?

    /// Which object of this machine it is.
    package let object: FileObject

    /// Names of a file; 1 for anything else.
    package let names: UInt32

    package let extra: ExtraAttributes

    /// Whether it has extended attributes that are not here: more than are kept, or some that this process may not read.
    package let isPartial: Bool

    /// - Parameter name: the last component of the path.
    /// - Returns: nothing for what is gone, or is none of these.
    init?(_ path: RelativePath, named name: String, in directory: DirectoryHandle) throws(SystemError) {
        guard let status = try directory.status(name) else { return nil }
        try self.init(path, named: name, status, in: directory)
    }

    /// - Parameter status: of what has the name.
    init?(
        _ path: RelativePath, named name: String, _ status: stat, in directory: DirectoryHandle
    ) throws(SystemError) {
        self.path = path
        object = FileObject(status)
        if status.isLink {
            attributes = StoredAttributes(link: status)
            target = try Self.unlessGone { () throws(SystemError) in try directory.disk.readLink(directory.number, name)
            }
            guard target?.isEmpty == false else { return nil }
            (names, extra, isPartial) = (1, ExtraAttributes(owner: status.owner), false)
            return
        }
        guard let attributes = StoredAttributes(status) else { return nil }
        (self.attributes, target) = (attributes, nil)
        names = attributes.isDirectory ? 1 : UInt32(clamping: status.st_nlink)
        let found = try Self.extended(name, in: directory)
        extra = ExtraAttributes(owner: status.owner, extended: found.extended)
        isPartial = found.isPartial
    }

    /// - Returns: nothing where they cannot be read, and where the file system has none: whoever wants them must not take them
    ///   for none.
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
            // Between two looks it was removed, or became something else.
            guard [ENOENT, ELOOP, EINVAL, ENXIO, ENOTDIR].contains(error.errno) else { throw error }
            return nil
        }
    }
}

extension stat {
    var owner: ExtraAttributes.Owner { ExtraAttributes.Owner(user: st_uid, group: st_gid) }
}
