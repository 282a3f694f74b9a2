internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The one resolver of client paths: opens directories below a pinned root and never above it or through a symbolic
/// link, whatever others do to the tree meanwhile.
struct DirectoryTree: Sendable {
    let root: DirectoryHandle

    /// What no path leads into; nothing where no server stores.
    private let own: OwnFolder?

    /// Whether the kernel has openat2(2), Linux 5.6; otherwise each component is opened by itself without following.
    private let hasOpenat2: Bool

    /// - Parameter usesOpenat2: false takes the walk even where openat2 is there; for tests.
    init(root: DirectoryHandle, own: OwnFolder? = nil, usesOpenat2: Bool = true) {
        (self.root, self.own) = (root, own)
        hasOpenat2 = usesOpenat2 && Self.kernelHasOpenat2(root)
    }

    /// Opens the directory at `path`, the root for nothing.
    ///
    /// - Throws: ENOENT, ENOTDIR, ELOOP (a symbolic link), EXDEV (outside).
    func open(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle {
        guard let path else { return root }
        try check(path)
        // A place in the trash can be longer than what the kernel takes at once.
        let isShort = path.string.utf8.count <= Limits.path
        return hasOpenat2 && isShort ? try Self.openBeneath(root, path.string) : try walk(path)
    }

    /// To be called for a path at the top that is not opened here.
    ///
    /// - Throws: ELOOP where it is the server's own folder under another name.
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
                // The tree was renamed meanwhile and the kernel could not tell (openat2(2)): ask again.
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
