internal import CLinux
import Glibc
import TransferProtocol
import TransferSystem

/// The one resolver of client paths: opens directories below a pinned root and never above it or through a symbolic
/// link, whatever others do to the tree meanwhile.
struct DirectoryTree: Sendable {
    let root: DirectoryHandle

    /// Whether the kernel has openat2(2), Linux 5.6; otherwise each component is opened by itself without following.
    private let hasOpenat2: Bool

    /// - Parameter usesOpenat2: false takes the walk even where openat2 is there; for tests.
    init(root: DirectoryHandle, usesOpenat2: Bool = true) {
        self.root = root
        hasOpenat2 = usesOpenat2 && Self.kernelHasOpenat2(root)
    }

    /// Opens the directory at `path`, the root for nothing.
    ///
    /// - Throws: ENOENT, ENOTDIR, ELOOP (a symbolic link), EXDEV (outside).
    func open(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle {
        guard let path else { return root }
        return hasOpenat2 ? try Self.openBeneath(root, path.string) : try walk(path)
    }

    /// As `open`, making what is missing with the permissions that the umask leaves of 0777.
    ///
    /// - Parameters:
    ///   - isDurable: whether the names of a directory and of those above it are known to be on disk.
    ///   - unsynced: is told, from the top down, each directory of which that is not known, new ones among them, and what
    ///     holds its name.
    func openOrMake(
        _ path: RelativePath?, isDurable: (RelativePath) -> Bool,
        unsynced: (_ path: RelativePath, _ parent: DirectoryHandle) -> Void
    ) throws(SystemError) -> DirectoryHandle {
        guard let path else { return root }
        if isDurable(path), let directory = try openExisting(path) { return directory }
        let parent = try openOrMake(path.parent, isDurable: isDurable, unsynced: unsynced)
        let name = String(path.name)
        do throws(SystemError) {
            try parent.makeDirectory(name, mode: 0o777)
        } catch {
            guard error.errno == EEXIST else { throw error }
        }
        unsynced(path, parent)
        return try parent.openDirectory(name)
    }

    /// - Returns: nothing when there is no such directory.
    private func openExisting(_ path: RelativePath) throws(SystemError) -> DirectoryHandle? {
        do throws(SystemError) {
            return try open(path)
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
    }

    private func walk(_ path: RelativePath) throws(SystemError) -> DirectoryHandle {
        var directory = root
        for component in path.components { directory = try directory.openDirectory(String(component)) }
        return directory
    }

    private static let resolve = UInt64(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

    private static func openBeneath(_ root: DirectoryHandle, _ path: String) throws(SystemError) -> DirectoryHandle {
        let flags = clinux_o_directory | O_RDONLY
        while true {
            do throws(SystemError) {
                let opened = try root.disk.open(root.number, path: path, flags: flags, resolve: resolve)
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
