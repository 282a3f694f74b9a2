import Glibc
import TransferModel
import TransferSystem

/// The directories that a batch of uploads goes to, and which of them have to be made durable.
final class BatchDirectories {
    private let tree: DirectoryTree
    private let committer: Committer
    private var opened: [RelativePath?: DirectoryHandle] = [:]
    /// Directories whose names have to be made durable, in the order in which they came, and which these are.
    private var unsynced: [DirectoryHandle] = []
    private var changed: Set<ObjectIdentifier> = []
    /// Directories whose own names become durable with these.
    private var reached: [RelativePath] = []
    /// Those of them that were not there before.
    private var made: [RelativePath] = []
    /// When one was last found that was, as the committer counts.
    private var lastLook: Int?

    init(_ tree: DirectoryTree, _ committer: Committer) {
        self.tree = tree
        self.committer = committer
    }

    /// Directories that are open; most are in both tables.
    var count: Int { Set(opened.values.lazy.map(ObjectIdentifier.init)).union(changed).count }

    func isOpen(_ path: RelativePath?) -> Bool { opened[path] != nil }

    /// Opens a directory, making what is missing.
    ///
    /// - Parameter mode: of which the umask leaves the permissions of the directory, where it is made; those above it have 0777.
    func open(_ path: RelativePath?, mode: mode_t = 0o777) throws(StoreError) -> DirectoryHandle {
        if let directory = opened[path] { return directory }
        let directory: DirectoryHandle
        if let path, let existing = try existing(path) {
            directory = existing
        } else if let path {
            directory = try openOrMake(path, mode)
        } else {
            directory = try attempt("open the directory") { () throws(SystemError) in try openRoot() }
        }
        opened[path] = directory
        return directory
    }

    /// A name in it was given.
    func change(_ directory: DirectoryHandle) {
        if changed.insert(ObjectIdentifier(directory)).inserted { unsynced.append(directory) }
    }

    /// Makes all names durable, those of the directories included.
    func commit(since failures: Int) throws(StoreError) {
        for case let error? in committer.commit(unsynced.map(\.number), since: failures, failing: { doubt() }) {
            throw StoreError(error, doing: "make a directory durable")
        }
        guard committer.isNeeded else { return }
        // Another batch that made one of them may have failed meanwhile, or is about to: one of its syncs has been told so
        // already, and others of them are still on their way.
        if let lastLook { _ = committer.isInDoubt(about: lastLook) }
        for path in reached { try committer.directories.checkTrust(in: path) }
        committer.directories.insert(reached)
    }

    /// To be called when a sync has failed that may have been about these.
    func doubt() { committer.directories.doubt(made) }

    func close() {
        opened.removeAll()
        unsynced.removeAll()
        changed.removeAll()
        reached.removeAll()
        made.removeAll()
    }

    /// A descriptor of its own, because the kernel tells each of a failure once: through a common one another batch might
    /// hear of it instead.
    private func openRoot() throws(SystemError) -> DirectoryHandle {
        committer.isNeeded ? try tree.root.openDirectory(".") : tree.root
    }

    /// - Returns: nothing when it is not there, or when nobody has seen to its name.
    private func existing(_ path: RelativePath) throws(StoreError) -> DirectoryHandle? {
        guard !committer.isNeeded || committer.directories.contains(path) else { return nil }
        return try attempt("open the directory") { () throws(SystemError) in
            do throws(SystemError) {
                return try tree.open(path)
            } catch {
                guard error.errno == ENOENT else { throw error }
                return nil
            }
        }
    }

    private func openOrMake(_ path: RelativePath, _ mode: mode_t) throws(StoreError) -> DirectoryHandle {
        let parent = try open(path.parent)
        let name = String(path.name)
        let moment = committer.moment
        let isNew = try attempt("make the directory \(path)") { () throws(SystemError) in
            do throws(SystemError) {
                try parent.makeDirectory(name, mode: mode)
                return true
            } catch {
                guard error.isExisting else { throw error }
                return false
            }
        }
        change(parent)
        if isNew {
            made.append(path)
            committer.directories.trust(path)
        } else {
            lastLook = moment
            try committer.directories.checkTrust(in: path)
        }
        reached.append(path)
        return try attempt("open the directory") { () throws(SystemError) in
            if path.parent == nil { try tree.check(path) }
            return try parent.openDirectory(name)
        }
    }
}
