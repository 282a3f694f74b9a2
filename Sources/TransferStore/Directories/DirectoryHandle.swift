internal import CLinux
import Glibc
import TransferSystem

/// An open directory. Every name below it is a single component, so no call through it can leave it.
final class DirectoryHandle: SyncableFile, Sendable {
    let disk: Disk
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor, on disk: Disk) {
        self.disk = disk
        self.descriptor = descriptor
    }

    /// Opens a directory by a path on this machine, which the operator has chosen and which is trusted.
    convenience init(path: String, on disk: Disk) throws(SystemError) {
        self.init(try disk.open(AT_FDCWD, path, flags: clinux_o_directory | O_RDONLY), on: disk)
    }

    func makeDirectory(_ name: String, mode: mode_t) throws(SystemError) {
        try disk.makeDirectory(number, name, mode: mode)
    }

    /// - Throws: ELOOP for a symbolic link, as openat2(2) does; the plain call fails with ENOTDIR.
    func openDirectory(_ name: String) throws(SystemError) -> DirectoryHandle {
        do throws(SystemError) {
            let flags = clinux_o_directory | clinux_o_nofollow | O_RDONLY
            return DirectoryHandle(try disk.open(number, name, flags: flags), on: disk)
        } catch {
            guard error.errno == ENOTDIR, try status(name)?.isSymbolicLink ?? false else { throw error }
            throw SystemError(errno: ELOOP, call: error.call)
        }
    }

    func openFile(_ name: String, flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        try disk.open(number, name, flags: flags | clinux_o_nofollow, mode: mode)
    }

    /// - Returns: nil if the name does not exist.
    func status(_ name: String) throws(SystemError) -> stat? {
        do throws(SystemError) {
            return try disk.status(number, name)
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
    }

    /// The status of a name that may not be valid UTF-8.
    func status(_ name: [UInt8]) throws(SystemError) -> stat? {
        do throws(SystemError) {
            return try disk.status(number, name)
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
    }

    func unlink(_ name: String) throws(SystemError) {
        try disk.unlink(number, name)
    }

    /// Syncs the names in the directory.
    func sync() throws(SystemError) {
        try disk.sync(number)
    }

    /// The names in the directory except `.` and `..`, in no order; bytes that are not UTF-8 are replaced.
    func names() throws(SystemError) -> [String] {
        try rawNames().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The names as bytes, except `.` and `..`.
    func rawNames() throws(SystemError) -> [[UInt8]] {
        let stream = try DirectoryStream(self)
        var names: [[UInt8]] = []
        while let name = try stream.next() { names.append(name) }
        return names
    }
}

extension stat {
    fileprivate var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
