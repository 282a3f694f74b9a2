internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The only resolver of client paths: opens directories below a pinned root, and never above it or through a symbolic
/// link, even if others change the tree meanwhile.
struct DirectoryTree: Sendable {
    let root: DirectoryHandle

    /// The server's own folder, into which no path may lead; nil if no server stores here.
    private let own: OwnFolder?

    /// Whether the kernel has openat2(2), since Linux 5.6; otherwise each component is opened by itself without
    /// following links.
    private let hasOpenat2: Bool

    /// - Parameter usesOpenat2: false walks the components even if the kernel has openat2; for tests.
    init(root: DirectoryHandle, own: OwnFolder? = nil, usesOpenat2: Bool = true) {
        (self.root, self.own) = (root, own)
        hasOpenat2 = usesOpenat2 && Self.kernelHasOpenat2(root)
    }

    /// Opens the directory at `path`; nil opens the root.
    ///
    /// - Throws: ENOENT, ENOTDIR, ELOOP (a symbolic link), EXDEV (outside).
    func open(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle {
        guard let path else { return root }
        try check(path)
        // A path in the trash can be longer than the kernel's limit for one call.
        let isShort = path.string.utf8.count <= Limits.path
        return hasOpenat2 && isShort ? try Self.openBeneath(root, path.string) : try walk(path)
    }

    /// Checks a path for a caller that opens an entry at the top itself.
    ///
    /// - Throws: ELOOP if it is the server's own folder under another name.
    func check(_ path: RelativePath) throws(SystemError) {
        try own?.check(path, in: root)
    }

    private func walk(_ path: RelativePath) throws(SystemError) -> DirectoryHandle {
        var directory = root
        for component in path.components { directory = try directory.openDirectory(String(component)) }
        return directory
    }

    private static func openBeneath(_ root: DirectoryHandle, _ path: String) throws(SystemError) -> DirectoryHandle {
        let flags = clinux_o_directory | O_RDONLY
        while true {
            do throws(SystemError) {
                let opened = try root.disk.open(root.number, path: path, flags: flags, resolve: Beneath.resolve)
                return DirectoryHandle(opened, on: root.disk)
            } catch {
                // A rename in the tree meanwhile kept the kernel from checking the path (openat2(2)): try again.
                if error.errno != EAGAIN { throw error }
            }
        }
    }

    private static func kernelHasOpenat2(_ root: DirectoryHandle) -> Bool {
        do throws(SystemError) {
            _ = try openBeneath(root, ".")
            return true
        } catch {
            return false
        }
    }
}
