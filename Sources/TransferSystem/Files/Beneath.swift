internal import CLinux
import Glibc
import Synchronization

/// Opens entries below a directory, and never entries outside it, whatever other processes rename meanwhile: no
/// symbolic link is followed, not even the last component, and `..` does not lead outside.
package enum Beneath {
    /// Restrictions of openat2(2) while it resolves a path.
    package static let resolve = UInt64(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

    /// Whether the kernel has openat2(2), which came with Linux 5.6; assumed until a call fails.
    private static let hasCall = Atomic(true)

    /// Most retries if names changed while the kernel resolved a path (openat2(2), EAGAIN). After these, the path is
    /// opened with one call for each component.
    private static let mostTries = 64

    /// - Parameters:
    ///   - path: components with slashes between them; `.` is the directory itself.
    ///   - directory: an open directory.
    ///   - flags: flags of open(2), without `O_CREAT`; `O_CLOEXEC` is added.
    /// - Throws: ELOOP or ENOTDIR for a symbolic link, EXDEV for a path that leads outside the directory, EINVAL for a
    ///   path with a zero byte, and errors of open(2).
    package static func open(
        _ path: String, below directory: Int32, _ flags: Int32
    ) throws(SystemError) -> Descriptor {
        // The kernel would end the path at the zero byte.
        guard !path.utf8.contains(0) else { throw SystemError(errno: EINVAL, call: "openat2") }
        var tries = 0
        while hasCall.load(ordering: .relaxed), tries < mostTries {
            do throws(SystemError) {
                return Descriptor(
                    try system("openat2") {
                        clinux_openat2(directory, path, UInt64(flags | O_CLOEXEC), 0, resolve)
                    })
            } catch {
                switch error.errno {
                case EAGAIN: tries += 1
                case ENOSYS: hasCall.store(false, ordering: .relaxed)
                // Filters of system calls refuse calls that they do not know, some of them with this error
                // (seccomp(2)).
                case EPERM: return try walk(path, below: directory, flags)
                default: throw error
                }
            }
        }
        return try walk(path, below: directory, flags)
    }

    /// Opens the entry without openat2(2), with one call for each component.
    package static func walk(_ path: String, below directory: Int32, _ flags: Int32) throws(SystemError) -> Descriptor {
        let components = path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.filter {
            $0 != "."
        }
        guard !components.contains("..") else { throw SystemError(errno: EXDEV, call: "openat") }
        let folders = clinux_o_path | clinux_o_directory
        var last = try openEntry(".", in: directory, components.isEmpty ? flags : folders)
        for (index, component) in components.enumerated() {
            last = try openEntry(component, in: last.number, index + 1 < components.count ? folders : flags)
        }
        return last
    }

    private static func openEntry(_ name: String, in directory: Int32, _ flags: Int32) throws(SystemError) -> Descriptor
    {
        Descriptor(
            try system("openat") { clinux_openat(directory, name, flags | O_CLOEXEC | clinux_o_nofollow, 0) })
    }
}
