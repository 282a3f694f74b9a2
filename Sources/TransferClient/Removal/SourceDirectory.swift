internal import CLinux
import Glibc
import TransferModel
import TransferStore
import TransferSystem

/// A directory that sources are to be removed from, held open: what is looked at, marked and removed in it is all in one
/// place, whatever becomes of its path.
final class SourceDirectory: Sendable {
    private let descriptor: Descriptor

    var number: Int32 { descriptor.number }

    init(_ path: String) throws(SystemError) {
        descriptor = Descriptor(
            try system("open") {
                clinux_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | clinux_o_directory, 0)
            })
    }

    /// When the names in it were changed last; nil where that cannot be read.
    var modified: Timestamp? {
        var status = stat()
        return fstat(number, &status) == 0 ? Timestamp(status.st_mtim) : nil
    }

    /// Sets that back, as far as the file system allows it.
    func set(modified: Timestamp) {
        let times = [
            timespec(tv_sec: 0, tv_nsec: clinux_utime_omit),
            timespec(tv_sec: Int(clamping: modified.seconds), tv_nsec: Int(modified.nanoseconds)),
        ]
        _ = futimens(number, times)
    }

    func unlink(_ name: String) throws(SystemError) {
        try system("unlink") { unlinkat(number, name, 0) }
    }

    /// Gives something in it another name.
    ///
    /// - Throws: EEXIST where something has that name; EINVAL or ENOSYS where the file system can only rename what replaces
    ///   whatever is there (rename(2)).
    func rename(_ name: String, to other: String) throws(SystemError) {
        try system("rename") { clinux_renameat2(number, name, number, other, clinux_rename_noreplace) }
    }

    /// Numbered names that are tried.
    private static let mostNumbers = 10_000

    /// Gives something in it another name, or that with a number if something has it.
    ///
    /// - Returns: the name that it has then; nothing where it has the old one still.
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

    /// Removes a directory in it that is empty.
    func removeDirectory(_ name: String) throws(SystemError) {
        try system("rmdir") { unlinkat(number, name, AT_REMOVEDIR) }
    }

    /// What a symbolic link in it says, and when it was made.
    func link(_ name: String) throws(SystemError) -> SentLink {
        var status = stat()
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        try system("lstat") { fstatat(number, name, &status, AT_SYMLINK_NOFOLLOW) }
        let count = try system("readlink") { readlinkat(number, name, &target, target.count) }
        return SentLink(
            target: target.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, modified: Timestamp(status.st_mtim))
    }

    /// Removes witnesses that killed pushes have left in it.
    func sweep() {
        // A descriptor of its own: reading moves its position.
        let copy = clinux_openat(number, ".", O_RDONLY | O_CLOEXEC | clinux_o_directory, 0)
        guard copy >= 0 else { return }
        guard let stream = fdopendir(copy) else {
            close(copy)
            return
        }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            SourceWitness.sweep(name, in: self)
        }
    }
}

/// What a symbolic link was when it was sent.
struct SentLink: Equatable, Sendable {
    let target: [UInt8]
    let modified: Timestamp
}
