internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// An open directory that contains sources. All calls on its entries use its descriptor, so they reach the same directory after its path
/// has changed. The user needs no permission to read the directory, because a path may only lead through it.
final class SourceDirectory: Sendable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    /// Opens a directory by a path that the user has named.
    init(_ path: String) throws(SystemError) {
        descriptor = Descriptor(
            try system("open") {
                clinux_openat(AT_FDCWD, path, Self.flags | O_CLOEXEC, 0)
            })
    }

    /// Flags for open(2): the descriptor serves to look up names, and cannot read the directory.
    static let flags = clinux_o_path | clinux_o_directory

    /// - Parameter descriptor: an open directory.
    init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// Tells this directory from others.
    var identity: SourceRoot.Identity {
        get throws(SystemError) { SourceRoot.Identity(try status()) }
    }

    /// Status of the directory itself (fstat(2)).
    func status() throws(SystemError) -> stat {
        var status = stat()
        try system("fstat") { fstat(number, &status) }
        return status
    }

    /// Status of an entry. A symbolic link is not followed.
    func status(_ name: String) throws(SystemError) -> stat {
        var status = stat()
        guard !name.utf8.contains(0) else { throw SystemError(errno: EINVAL, call: "fstatat") }
        try system("fstatat") { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        return status
    }

    /// Opens an entry of it or below it (`Beneath`).
    func open(_ path: String, _ flags: Int32) throws(SystemError) -> Descriptor {
        try Beneath.open(path, below: number, flags)
    }

    /// Opens a directory in it or below it.
    func directory(_ path: String) throws(SystemError) -> SourceDirectory {
        SourceDirectory(try open(path, Self.flags))
    }

    /// One entry of a directory, by its name.
    struct Entry {
        /// Nil if the name is not UTF-8; `shown` is then only for people.
        let name: String?
        let shown: String
        let type: FileType
    }

    /// Opens the directory once more, to read its names and attributes or to set its times.
    func openForReading() throws(SystemError) -> Descriptor { try open(".", O_RDONLY | clinux_o_directory) }

    /// All entries except `.` and `..`, in no particular order.
    ///
    /// - Throws: the error of open(2). An error in the middle of reading ends the list without one.
    func entries() throws(SystemError) -> [Entry] {
        let own = try openForReading().release()
        guard let stream = fdopendir(own) else {
            let code = errno
            close(own)
            throw SystemError(errno: code, call: "fdopendir")
        }
        defer { closedir(stream) }
        var entries: [Entry] = []
        while let entry = readdir(stream) {
            let (name, shown) = Self.name(entry)
            if shown != ".", shown != ".." {
                entries.append(Entry(name: name, shown: shown, type: Self.type(entry, in: stream)))
            }
        }
        return entries
    }

    private static func name(_ entry: UnsafeMutablePointer<dirent>) -> (String?, shown: String) {
        withUnsafePointer(to: &entry.pointee.d_name) { pointer in
            pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                (String(validatingCString: $0), String(cString: $0))
            }
        }
    }

    /// Most file systems give the type with the name; for the others, the status is read.
    private static func type(_ entry: UnsafeMutablePointer<dirent>, in stream: OpaquePointer) -> FileType {
        switch Int(entry.pointee.d_type) {
        case DT_REG: return .regular
        case DT_DIR: return .directory
        case DT_LNK: return .symbolicLink
        case DT_FIFO: return .fifo
        case DT_SOCK: return .socket
        case DT_CHR, DT_BLK: return .device
        default:
            var status = stat()
            let code = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
                    fstatat(dirfd(stream), $0, &status, AT_SYMLINK_NOFOLLOW)
                }
            }
            return code == 0 ? FileType(mode: status.st_mode) : .unknown
        }
    }

    /// The directory's modification time; nil if it cannot be read.
    var modified: Timestamp? {
        var status = stat()
        return fstat(number, &status) == 0 ? Timestamp(status.st_mtim) : nil
    }

    /// Sets the directory's modification time, if the file system allows it.
    func set(modified: Timestamp) {
        let times = [
            timespec(tv_sec: 0, tv_nsec: clinux_utime_omit),
            timespec(tv_sec: Int(clamping: modified.seconds), tv_nsec: Int(modified.nanoseconds)),
        ]
        guard let own = try? openForReading() else { return }
        _ = futimens(own.number, times)
    }

    func unlink(_ name: String) throws(SystemError) {
        try system("unlink") { unlinkat(number, name, 0) }
    }

    /// Renames an entry. Replaces nothing.
    ///
    /// - Parameter directory: the directory of the new name; nil for this one.
    /// - Throws: EEXIST if the new name is taken; EINVAL or ENOSYS if the file system can rename only by replacing
    ///   (rename(2)).
    func rename(_ name: String, to other: String, in directory: SourceDirectory? = nil) throws(SystemError) {
        let there = directory?.number ?? number
        try system("rename") { clinux_renameat2(number, name, there, other, clinux_rename_noreplace) }
    }

    /// Renames a file without replacing on file systems where `rename` cannot, such as NFS: links the new name, then
    /// removes the old one.
    func relink(_ name: String, to other: String, in directory: SourceDirectory) throws(SystemError) {
        try system("link") { linkat(number, name, directory.number, other, 0) }
        try unlink(name)
    }

    /// Makes a directory in it, or opens the existing one.
    ///
    /// - Parameter permissions: the permissions before the umask is applied.
    func makeDirectory(_ name: String, permissions: mode_t) throws(SystemError) -> SourceDirectory {
        do throws(SystemError) {
            try system("mkdir") { mkdirat(number, name, permissions) }
        } catch {
            guard error.isExisting else { throw error }
        }
        return try directory(name)
    }

    /// Numbered names that are tried at most.
    private static let mostNumbers = 10_000

    /// Renames an entry, to a numbered name if the wanted one is taken.
    ///
    /// - Returns: the new name; nil if the entry could not be renamed.
    func rename(_ name: String, toFree other: String) -> String? {
        for number in 0..<Self.mostNumbers {
            let free = number == 0 ? other : (try? RelativePath(other).numbered(number).string) ?? "\(number)"
            do throws(SystemError) {
                try rename(name, to: free)
                return free
            } catch {
                guard error.isExisting else { return nil }
            }
        }
        return nil
    }

    /// Removes an empty directory in it.
    func removeDirectory(_ name: String) throws(SystemError) {
        try system("rmdir") { unlinkat(number, name, AT_REMOVEDIR) }
    }

    /// The target of a symbolic link in it, and the link's modification time.
    func link(_ name: String) throws(SystemError) -> SentLink {
        var status = stat()
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        try system("lstat") { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        let count = try system("readlink") { readlinkat(number, name, &target, target.count) }
        return SentLink(
            target: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, modified: Timestamp(status.st_mtim))
    }

    /// Removes witnesses that killed pushes have left in it, and gives renamed sources their names back.
    func sweep(_ key: WitnessKey) {
        for entry in (try? entries()) ?? [] {
            if let name = entry.name { SourceWitness.sweep(name, in: self, key) }
        }
    }
}

/// A symbolic link as it was sent.
struct SentLink: Equatable, Sendable {
    let target: [UInt8]
    let modified: Timestamp
}
