internal import CLinux
import Glibc
import TransferSystem

/// An open directory. Every name below it is a single component, so no call through it can leave it.
final class DirectoryHandle: Sendable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Opens a directory by a path of this machine, which the operator chose and is trusted.
    convenience init(path: String) throws(SystemError) {
        let flags = clinux_o_directory | O_RDONLY | O_CLOEXEC
        self.init(Descriptor(try system("open") { clinux_openat(AT_FDCWD, path, flags, 0) }))
    }

    func makeDirectory(_ name: String, mode: mode_t) throws(SystemError) {
        try system("mkdirat") { mkdirat(number, name, mode) }
    }

    /// - Throws: ELOOP for a symbolic link, like openat2; the plain call says ENOTDIR of it.
    func openDirectory(_ name: String) throws(SystemError) -> DirectoryHandle {
        let flags = clinux_o_directory | clinux_o_nofollow | O_RDONLY | O_CLOEXEC
        do throws(SystemError) {
            return DirectoryHandle(Descriptor(try system("openat") { clinux_openat(number, name, flags, 0) }))
        } catch {
            guard error.errno == ENOTDIR, try status(name)?.isSymbolicLink ?? false else { throw error }
            throw SystemError(errno: ELOOP, call: error.call)
        }
    }

    func openFile(_ name: String, flags: Int32, mode: mode_t = 0) throws(SystemError) -> Descriptor {
        let flags = flags | clinux_o_nofollow | O_CLOEXEC
        return Descriptor(try system("openat") { clinux_openat(number, name, flags, mode) })
    }

    /// - Returns: nothing when the name is free.
    func status(_ name: String) throws(SystemError) -> stat? {
        var status = stat()
        do throws(SystemError) {
            try system("fstatat") { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        } catch {
            if error.errno == ENOENT { return nil }
            throw error
        }
        return status
    }

    func unlink(_ name: String) throws(SystemError) {
        try system("unlinkat") { unlinkat(number, name, 0) }
    }

    /// Makes the names in it durable.
    func sync() throws(SystemError) {
        try system("fsync") { fsync(number) }
    }

    /// The names in it but `.` and `..`, in no order.
    func names() throws(SystemError) -> [String] {
        // A descriptor of its own: reading moves its position, and closedir closes it.
        let copy = try openDirectory(".")
        let number = try system("dup") { fcntl(copy.number, F_DUPFD_CLOEXEC, 0) }
        guard let stream = fdopendir(number) else {
            let code = errno
            close(number)
            throw SystemError(errno: code, call: "fdopendir")
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }
}

extension stat {
    fileprivate var isSymbolicLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
