internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// What lies below a server's directory, to be read and never changed. Needs no server that stands still: whatever is
/// found may be gone when it is opened. Safe to call from any thread.
package final class StoredFiles: Sendable {
    /// What the walk comes across.
    package enum Item: Sendable {
        case file(Place)
        /// A file under a name that no upload can have. The path is repaired where it is not UTF-8.
        case foreign(path: String, size: UInt64)
        /// A directory, or something in one, that cannot be looked at.
        case unreadable(path: String, reason: String)
        /// Neither a file nor a directory that uploads can be in.
        case other
    }

    /// Where a file is.
    package struct Place: Sendable {
        package let path: RelativePath
        /// Bytes.
        package let size: UInt64
        let directory: DirectoryHandle
    }

    /// What opening a path came to.
    package enum Opened: Sendable {
        case file(StoredFile)
        case absent
        /// Something, but no file.
        case other
        case unreadable(reason: String)
    }

    private let tree: DirectoryTree
    private let own: DirectoryHandle
    private let walk: Locked<StoredWalk>

    /// - Parameter path: of the server's directory, on this machine.
    /// - Throws: `storageFailed` when it is none.
    package convenience init(path: String) throws(Failure) {
        try self.init(path: path, disk: Disk())
    }

    /// - Parameter disk: what all calls go through.
    init(path: String, disk: Disk) throws(Failure) {
        do throws(SystemError) {
            let root = try DirectoryHandle(path: path, on: disk)
            tree = DirectoryTree(root: root)
            own = try root.openDirectory(RelativePath.reservedName)
        } catch {
            let shown = path.escapedForDisplay
            let hint = error.errno == ENOENT ? "there is none, or no server has stored in it" : error.reason
            throw Failure(.storageFailed, "Cannot look through the directory '\(shown)': \(hint).")
        }
        walk = Locked(StoredWalk(tree))
    }

    /// The next thing, in no order; nothing at the end.
    package func next() -> Item? { walk.withLock { $0.next() } }

    /// Opens what the walk found.
    package func open(_ place: Place) -> Opened {
        open { () throws(SystemError) in (place.directory, String(place.path.name)) }
    }

    /// Opens what has a path now.
    package func open(_ path: RelativePath) -> Opened {
        open { () throws(SystemError) in (try tree.open(path.parent), String(path.name)) }
    }

    /// What has a path, without a look at its content.
    ///
    /// - Returns: nothing where there is none.
    /// - Throws: where nobody can say what is there.
    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { try tree.object(at: path) }

    private func open(_ place: () throws(SystemError) -> (DirectoryHandle, String)) -> Opened {
        do throws(SystemError) {
            let (directory, name) = try place()
            // Opening a device can do things.
            guard let status = try directory.status(name) else { return .absent }
            guard status.isFile else { return .other }
            let file = try directory.openFile(name, flags: O_RDONLY | O_NONBLOCK)
            return .file(try StoredFile(file, on: directory.disk))
        } catch {
            switch error.errno {
            // On the way to it are a file or a symbolic link now.
            case ENOENT, ENOTDIR, ELOOP: return .absent
            default: return .unreadable(reason: error.description)
            }
        }
    }

    /// Makes all names durable that there are.
    package func syncNames() throws(Failure) {
        try attempt("make the directory durable") { () throws(SystemError) in
            try tree.root.disk.syncAll(tree.root.number)
        }
    }

    /// What there is of unfinished uploads.
    package func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let incoming = try own.openDirectory("incoming")
            for name in try incoming.names() {
                guard let status = try incoming.status(name), status.isFile else { continue }
                found.count += 1
                found.bytes = found.bytes.addingClamped(status.space)
            }
        }
        return found
    }
}

// MARK: Servers

extension StoredFiles {
    /// Whether a server stores in the directory now.
    package func isServed() -> Bool {
        // Shared, and given back at once: who only looks must not keep a server from starting.
        guard let lock = try? own.openFile("lock", flags: O_RDONLY) else { return false }
        guard flock(lock.number, LOCK_SH | LOCK_NB) != 0 else { return false }
        return errno == EWOULDBLOCK
    }

    /// Keeps servers out until what is returned is released.
    ///
    /// - Throws: `busy` while there is one.
    package func lock() throws(Failure) -> DirectoryLock {
        let lock = try attempt("open the directory's lock") { () throws(SystemError) in
            DirectoryLock(try own.openFile("lock", flags: O_RDWR | O_CREAT, mode: 0o600))
        }
        guard flock(lock.descriptor.number, LOCK_EX | LOCK_NB) == 0 else {
            throw Failure(.busy, "A server is storing in the directory.")
        }
        return lock
    }
}

/// Keeps servers out of a directory as long as somebody holds it.
package final class DirectoryLock: Sendable {
    fileprivate let descriptor: Descriptor

    fileprivate init(_ descriptor: consuming Descriptor) {
        self.descriptor = descriptor
    }

    /// A child that is being started has a copy of the descriptor, and the lock with it, until it executes its program.
    deinit { flock(descriptor.number, LOCK_UN) }
}

extension stat {
    var isFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
}
