internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Removes one file, or a directory with everything in it, a bounded number of names at a time. Symbolic links are
/// removed, not followed. Belongs to one task at a time.
final class Removal: TreeRemoval {
    /// A directory that is being emptied.
    private struct Level {
        let path: RelativePath
        /// The status when it was first opened; another directory may have the path when it is opened again.
        let status: stat
        /// Nil while the directory is closed for deeper ones.
        var opened: OpenLevel?
        /// How often it was read to the end without being empty.
        var rounds = 0
    }

    private struct OpenLevel {
        let directory: DirectoryHandle
        let stream: DirectoryStream

        init(_ directory: DirectoryHandle) throws(SystemError) {
            (self.directory, stream) = (directory, try DirectoryStream(directory))
        }
    }

    private let remover: StoreRemover
    /// The directory that contains the removed entry, and that has to be synced.
    private let parent: DirectoryHandle
    /// The counters of failed syncs when the removal began.
    private let moment: StoreRemover.Moment
    private var levels: [Level] = []
    private var removed: [RemovedFile] = []
    /// Whether the remover has learnt that this removal has ended.
    private var isTold = false

    /// How many of the deepest directories are open at once, with two descriptors each: a path has up to 2,048
    /// directories (`Limits.path`), and all clients share the descriptors.
    static let mostOpened = 16

    /// How often a directory is read again because others add entries while it is emptied.
    private static let mostRounds = 3

    init(
        _ path: RelativePath, in parent: DirectoryHandle, isRecursive: Bool, of version: FileVersion?,
        _ remover: StoreRemover
    ) throws(Failure) {
        (self.remover, self.parent) = (remover, parent)
        moment = remover.moment
        let status = try Self.attempt(path) { () throws(SystemError) in
            try store.tree.check(path)
            return try parent.status(String(path.name))
        }
        guard let status, status.isFile || status.isDirectory || status.isLink else { throw .notFound(path) }
        guard status.isDirectory else {
            try unlink(path, in: parent, of: version)
            return
        }
        guard version == nil else { throw .otherVersion(path) }
        guard isRecursive else {
            throw Failure(.wrongForm, "\(path) is a folder: it can only be removed together with its content.")
        }
        try enter(path, in: parent)
    }

    private var store: FileStore { remover.store }

    func step(_ count: Int) throws(Failure) -> Bool {
        for _ in 0..<count {
            guard let level = levels.last else { break }
            guard let opened = try open(levels.count - 1) else {
                levels.removeLast()
                continue
            }
            let name = try Self.attempt(level.path) { () throws(SystemError) in try opened.stream.next() }
            if let name { try remove(name, in: opened.directory, level.path) } else { try leave(level, opened) }
        }
        guard levels.isEmpty else { return false }
        // The remover learns of the end in the same step as the caller. If it learnt earlier, a commit that fails in
        // between would be reported to other removals only.
        if !isTold { remover.ended(in: parent, since: moment) }
        isTold = true
        return true
    }

    /// Opens a directory again that was closed for deeper ones.
    ///
    /// - Returns: nil if another process has removed it.
    /// - Throws: `busy` if another directory has its path.
    private func open(_ index: Int) throws(Failure) -> OpenLevel? {
        let level = levels[index]
        if let opened = level.opened { return opened }
        do throws(SystemError) {
            let directory = try store.tree.open(level.path)
            guard try directory.disk.status(directory.number).isSame(as: level.status) else {
                throw SystemError(errno: EBUSY, call: "openat")
            }
            let opened = try OpenLevel(directory)
            levels[index].opened = opened
            return opened
        } catch {
            switch error.errno {
            case ENOENT: return nil
            case EBUSY, ENOTDIR, ELOOP:
                throw Failure(
                    .busy, "\(level.path) was moved while it was being removed: the rest of it was not removed.")
            default: throw Failure(error, doing: "remove \(level.path)")
            }
        }
    }

    func takeRemoved() -> [RemovedFile] {
        defer { removed = [] }
        return removed
    }

    private func remove(
        _ bytes: [UInt8], in directory: DirectoryHandle, _ folder: RelativePath
    ) throws(Failure) {
        // An entry whose name cannot be in a path stays, and so does the directory.
        guard let name = String(validating: bytes, as: UTF8.self), let path = RelativePath.child(name, of: folder),
            let status = try Self.attempt(path, { () throws(SystemError) in try directory.status(name) })
        else { return }
        if status.isDirectory { try enter(path, in: directory) } else { try unlink(path, in: directory) }
    }

    private func enter(_ path: RelativePath, in parent: DirectoryHandle) throws(Failure) {
        try Self.attempt(path) { () throws(SystemError) in
            let directory = try parent.openDirectory(String(path.name))
            let status = try directory.disk.status(directory.number)
            levels.append(Level(path: path, status: status, opened: try OpenLevel(directory)))
        }
        let highest = levels.count - 1 - Self.mostOpened
        if highest >= 0 { levels[highest].opened = nil }
    }

    /// Holds the lock for replacements, so that the file that is noted as removed is the one that is removed.
    private func unlink(
        _ path: RelativePath, in parent: DirectoryHandle, of version: FileVersion? = nil
    ) throws(Failure) {
        let name = String(path.name)
        let status = try store.incoming.replacing.withLock { _ throws(Failure) -> stat? in
            let found = try Self.attempt(path) { () throws(SystemError) in try parent.status(name) }
            guard let found else { return nil }
            if let version, ContentVersion(found).told != version { throw .otherVersion(path) }
            try Self.attempt(path) { () throws(SystemError) in try parent.unlink(name) }
            return found
        }
        guard let status, status.isFile else { return }
        let version = ContentVersion(status)
        let isLast = status.st_nlink < 2
        removed.append(RemovedFile(path: path, version: version, isLast: isLast))
        if isLast { store.space?.quota?.removed(version.size) }
    }

    private func leave(_ level: Level, _ opened: OpenLevel) throws(Failure) {
        // If its parent is gone, so is the directory.
        if let parent = levels.count < 2 ? parent : try open(levels.count - 2)?.directory {
            do throws(SystemError) {
                try parent.disk.removeDirectory(parent.number, String(level.path.name))
            } catch {
                if error.errno == ENOTEMPTY || error.errno == EEXIST { return try goThroughAgain(level, opened.stream) }
                guard error.errno == ENOENT else { throw Failure(error, doing: "remove \(level.path)") }
            }
        }
        store.incoming.committer.directories.forget(level.path)
        levels.removeLast()
    }

    private func goThroughAgain(_ level: Level, _ stream: DirectoryStream) throws(Failure) {
        guard level.rounds < Self.mostRounds else {
            throw Failure(
                .pathConflict,
                "\(level.path) is not empty: a file is being stored in it, or an entry in it has a "
                    + "name that no client can send.")
        }
        levels[levels.count - 1].rounds += 1
        stream.rewind()
    }

    private static func attempt<T>(
        _ path: RelativePath, _ body: () throws(SystemError) -> T
    ) throws(Failure) -> T {
        do throws(SystemError) {
            return try body()
        } catch {
            switch error.errno {
            case ENOENT, ENOTDIR: throw .notFound(path)
            case EACCES, EPERM:
                throw Failure(.storageFailed, "Could not remove \(path): the server's file system denies permission.")
            default: throw Failure(error, doing: "remove \(path)")
            }
        }
    }
}
