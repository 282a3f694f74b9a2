internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Reads the files of a server's directory without changing them, also beside a running server: a file that was found
/// may be gone when it is opened. Safe to call from any thread.
package final class StoredFiles: ScrubStore {
    private let tree: DirectoryTree
    private let own: DirectoryHandle

    /// - Parameter path: the server's directory on this machine.
    /// - Throws: `storageFailed` if it is not a server's directory.
    package convenience init(path: String) throws(Failure) {
        try self.init(path: path, disk: Disk())
    }

    /// - Parameter disk: makes all system calls.
    init(path: String, disk: Disk) throws(Failure) {
        do throws(SystemError) {
            let root = try DirectoryHandle(path: path, on: disk)
            tree = DirectoryTree(root: root)
            own = try root.openDirectory(RelativePath.reservedName)
        } catch {
            let shown = path.escapedForDisplay
            let hint = error.errno == ENOENT ? "it does not exist, or no server has stored in it" : error.reason
            throw Failure(.storageFailed, "Cannot look through the directory '\(shown)': \(hint).")
        }
    }

    package func walk() -> any ScrubWalk { SharedWalk(StoredWalk(tree)) }

    package func open(_ path: RelativePath) -> ScrubOpening {
        ScrubOpening { () throws(SystemError) in (try tree.open(path.parent), String(path.name)) }
    }

    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { try tree.object(at: path) }

    package func syncNames() throws(Failure) {
        try attempt("make the directory durable") { () throws(SystemError) in
            try tree.root.disk.syncAll(tree.root.number)
        }
    }

    package func unfinished() throws(Failure) -> UnfinishedContent {
        var found = UnfinishedContent()
        try attempt("look through the folder of incoming parts") { () throws(SystemError) in
            let incoming = try own.openDirectory("incoming")
            for name in try incoming.names() where name.hasSuffix(StagedFile.partSuffix) {
                guard let status = try incoming.status(name), status.isFile else { continue }
                found.count += 1
                found.bytes = found.bytes.addingClamped(status.space)
            }
        }
        return found
    }
}

// MARK: The walk

/// A walk that several threads share.
private final class SharedWalk: ScrubWalk {
    private let walk: Locked<StoredWalk>

    init(_ walk: StoredWalk) { self.walk = Locked(walk) }

    package func next() -> ScrubEntry? {
        switch walk.withLock({ $0.next() }) {
        case nil: nil
        case .file(let place)?: .file(place)
        case .foreign(let path, let size)?: .foreign(path: path, size: size)
        case .unreadable(let path, let reason)?: .unreadable(path: path, reason: reason)
        case .other?: .other
        }
    }
}

extension StoredWalk.Place: ScrubFile {
    package func open() -> ScrubOpening {
        ScrubOpening { () throws(SystemError) in (directory, String(path.name)) }
    }
}

extension ScrubOpening {
    fileprivate init(_ place: () throws(SystemError) -> (DirectoryHandle, String)) {
        do throws(SystemError) {
            let (directory, name) = try place()
            // Check the form first: opening a device can have side effects.
            switch try directory.status(name)?.isFile {
            case nil: self = .absent
            case false?: self = .other
            case true?: self = .file(try StoredContent(name, in: directory, as: nil))
            }
        } catch {
            switch error.errno {
            // A component of the path is a file or link by now.
            case ENOENT, ENOTDIR, ELOOP: self = .absent
            default: self = .unreadable(reason: error.description)
            }
        }
    }
}

// MARK: Servers

extension StoredFiles {
    package func isServed() -> Bool {
        // Take the lock shared, and release it at once, so that this check does not keep a server from starting.
        guard let lock = try? own.openFile(DirectoryLock.name, flags: O_RDONLY) else { return false }
        guard flock(lock.number, LOCK_SH | LOCK_NB) != 0 else { return false }
        return errno == EWOULDBLOCK
    }

    package func lock() throws(Failure) -> any ScrubLock {
        let lock = try attempt("open the directory's lock") { () throws(SystemError) in try DirectoryLock(in: own) }
        guard try attempt("take the directory's lock", { () throws(SystemError) in try lock.take() }) else {
            throw Failure(.busy, "A server is storing in the directory.")
        }
        return lock
    }
}

extension stat {
    var isFile: Bool { st_mode & S_IFMT == S_IFREG }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
}
