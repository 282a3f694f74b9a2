internal import CLinux
import Glibc
import TransferSystem

/// The calls, by descriptors and single names.
extension Disk {
    func open(_ directory: Int32, _ name: String, flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        let flags = flags | O_CLOEXEC
        return Descriptor(
            try run("openat", .open(directory: directory, name: name, flags: flags)) {
                clinux_openat(directory, name, flags, mode)
            })
    }

    /// As `open`, for paths of several components.
    ///
    /// - Parameter resolve: what openat2(2) must not do on the way.
    func open(_ directory: Int32, path: String, flags: Int32, resolve: UInt64) throws(SystemError) -> Descriptor {
        let flags = flags | O_CLOEXEC
        return Descriptor(
            try run("openat2", .open(directory: directory, name: path, flags: flags)) {
                clinux_openat2(directory, path, UInt64(flags), 0, resolve)
            })
    }

    func makeDirectory(_ directory: Int32, _ name: String, mode: mode_t) throws(SystemError) {
        try run("mkdirat", .makeDirectory(directory: directory, name: name)) { mkdirat(directory, name, mode) }
    }

    /// Of the name itself, also where it is a symbolic link.
    func status(_ directory: Int32, _ name: String) throws(SystemError) -> stat {
        var status = stat()
        try run("fstatat", .status(directory: directory, name: name)) {
            fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        amend(&status)
        return status
    }

    /// The same for a name that need not be a string.
    func status(_ directory: Int32, _ name: [UInt8]) throws(SystemError) -> stat {
        var status = stat()
        let shown = String(decoding: name, as: UTF8.self)
        let name = (name + [0]).map { CChar(bitPattern: $0) }
        try run("fstatat", .status(directory: directory, name: shown)) {
            fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW)
        }
        amend(&status)
        return status
    }

    func unlink(_ directory: Int32, _ name: String) throws(SystemError) {
        try run("unlinkat", .unlink(directory: directory, name: name)) { unlinkat(directory, name, 0) }
    }

    func removeDirectory(_ directory: Int32, _ name: String) throws(SystemError) {
        try run("unlinkat", .removeDirectory(directory: directory, name: name)) {
            unlinkat(directory, name, AT_REMOVEDIR)
        }
    }

    /// - Parameter name: of the file; the empty one for the file that `file` stands for.
    func link(_ file: Int32, _ name: String, flags: Int32, to target: (directory: Int32, name: String))
        throws(SystemError)
    {
        try run("linkat", .link(file, directory: target.directory, name: target.name)) {
            linkat(name.isEmpty ? file : AT_FDCWD, name, target.directory, target.name, flags)
        }
    }

    /// Gives what has a name another one. A symbolic link is not followed.
    func link(
        from directory: Int32, _ name: String, to target: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.linkName(
            from: directory, name: name, directory: target.directory, newName: target.name)
        try run("linkat", call) { linkat(directory, name, target.directory, target.name, 0) }
    }

    func rename(_ directory: Int32, _ name: String, to target: (directory: Int32, name: String)) throws(SystemError) {
        let call = DiskCall.rename(
            from: directory, name: name, directory: target.directory, newName: target.name, replaces: true)
        try run("renameat", call) { renameat(directory, name, target.directory, target.name) }
    }

    /// Fails with EEXIST when the name is taken, and with EINVAL where the file system cannot.
    func renameToFreeName(
        _ directory: Int32, _ name: String, to target: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.rename(
            from: directory, name: name, directory: target.directory, newName: target.name, replaces: false)
        try run("renameat2", call) {
            clinux_renameat2(directory, name, target.directory, target.name, clinux_rename_noreplace)
        }
    }

    /// Lets two names change what they stand for, in one step. Fails with EINVAL where the file system cannot.
    func exchange(
        _ directory: Int32, _ name: String, with other: (directory: Int32, name: String)
    ) throws(SystemError) {
        let call = DiskCall.exchange(directory, name: name, directory: other.directory, otherName: other.name)
        try run("renameat2", call) {
            clinux_renameat2(directory, name, other.directory, other.name, clinux_rename_exchange)
        }
    }

    /// The type of the file system, a number from linux/magic.h.
    func fileSystemType(_ number: Int32) throws(SystemError) -> Int {
        var type = 0
        try run("fstatfs", .examine(number)) { clinux_file_system_type(number, &type) }
        return type
    }
}
