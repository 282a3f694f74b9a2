internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The directories that a batch of uploads goes to, and which of them have to be synced.
final class BatchDirectories {
    private let tree: DirectoryTree
    private let committer: Committer
    private var opened: [RelativePath?: DirectoryHandle] = [:]
    /// Directories in which names have to be synced, in the order in which they came, and the set of these.
    private(set) var unsynced: [DirectoryHandle] = []
    private var changed: Set<ObjectIdentifier> = []
    /// Directories whose own names become durable by these syncs, with their parents.
    private var reached: [(path: RelativePath, parent: DirectoryHandle)] = []
    /// New directories whose names are not durable yet.
    private(set) var made: [RelativePath] = []
    /// Directories whose names are durable already, though perhaps not those of their parents.
    private var settled: Set<RelativePath> = []
    /// The committer's moment at which an existing directory was last found.
    private var lastLook: Int?
    /// The error of a sync before the end of the batch; it fails the whole batch.
    private var failure: Failure?

    init(_ tree: DirectoryTree, _ committer: Committer) {
        self.tree = tree
        self.committer = committer
    }

    /// The number of open directories; most are in both tables.
    var count: Int { Set(opened.values.lazy.map(ObjectIdentifier.init)).union(changed).count }

    func isOpen(_ path: RelativePath?) -> Bool { opened[path] != nil }

    /// Whether a sync has failed, so that nothing of the batch can be made durable.
    var hasFailed: Bool { failure != nil }

    /// Opens a directory, creating what is missing.
    ///
    /// - Parameters:
    ///   - mode: the mode of the directory if it is created, before the umask; new directories above it get 0777. In
    ///     the trash a directory gets the mode of the original one.
    ///   - replacing: creates the directory in place of a file or link that has the name, and returns false if a
    ///     directory had it; nil to create it only if the name is free.
    func open(
        _ path: RelativePath?, mode: mode_t = 0o777, replacing: (() throws(Failure) -> Bool)? = nil
    ) throws(Failure) -> DirectoryHandle {
        if let directory = opened[path] { return directory }
        let directory: DirectoryHandle
        if let path, replacing == nil, let existing = try existing(path) {
            directory = existing
        } else if let path {
            directory = try openOrMake(path, mode, replacing)
        } else {
            directory = try attempt("open the directory") { () throws(SystemError) in try openRoot() }
        }
        opened[path] = directory
        return directory
    }

    /// Notes that a name was added or removed in the directory.
    func change(_ directory: DirectoryHandle) {
        if changed.insert(ObjectIdentifier(directory)).inserted { unsynced.append(directory) }
    }

    /// Syncs the names of new folders before an entry with a durable name is moved into them. Otherwise a disk without
    /// a journal could lose the folder's name but keep the removal of the old name, and the moved entry would be lost.
    ///
    /// A folder is synced once in a batch, and not at all if its name is as durable as that of the moved entry.
    ///
    /// - Parameters:
    ///   - folder: the open folder of the new name; nil for the top.
    ///   - source: the path that is going to be moved.
    func settle(_ folder: RelativePath?, before source: RelativePath, since failures: Int) throws(Failure) {
        guard let folder, committer.isNeeded else { return }
        let open = reached.filter { path, _ in
            !settled.contains(path) && (path == folder || folder.below(path) != nil) && source.below(path) == nil
        }
        guard !open.isEmpty else { return }
        do throws(Failure) {
            if let failure { throw failure }
            var seen: Set<ObjectIdentifier> = []
            let holders = open.map(\.parent).filter { seen.insert(ObjectIdentifier($0)).inserted }
            try sync(holders, since: failures)
        } catch {
            // The kernel has reported the failure, and will not report it to the next sync.
            failure = error
            throw error
        }
        settled.formUnion(open.map(\.path))
        made.removeAll { settled.contains($0) }
        try checkTrust(in: open.map(\.path))
    }

    /// Takes over the failure of another batch's sync that was made for this one too: the kernel reports it only once.
    func adoptFailure(of other: BatchDirectories) { failure = failure ?? other.failure }

    /// Whether `commit`, or a sync of `unsynced` by the caller, has something to do.
    var hasUnsynced: Bool { !unsynced.isEmpty || failure != nil }

    /// Called after `unsynced` were synced, with `made` as the new directories that the syncs cover.
    ///
    /// - Parameter errors: the result for each directory, in their order.
    func finish(_ errors: some Sequence<SystemError?>) throws(Failure) {
        if let failure { throw failure }
        if let error = errors.lazy.compactMap(\.self).first { throw fail(error) }
        unsynced.removeAll()
        changed.removeAll()
        try trustReached()
    }

    /// Syncs all names, including those of the directories.
    func commit(since failures: Int) throws(Failure) {
        if let failure { throw failure }
        try sync(unsynced, since: failures)
        try trustReached()
    }

    /// Records the directories as durable, after all names were synced.
    private func trustReached() throws(Failure) {
        made.removeAll()
        guard committer.isNeeded else { return }
        try checkTrust(in: reached.map(\.path))
        committer.directories.insert(reached.map(\.path))
    }

    /// Notes that the batch has failed. Its new directories are already in doubt, or noted as unsynced.
    private func fail(_ error: SystemError) -> Failure {
        made.removeAll()
        let error = Failure(error, doing: "make a directory durable")
        failure = error
        return error
    }

    /// Forgets directories that this batch has made and that are gone again.
    func drop(_ gone: Set<RelativePath>) { made.removeAll { gone.contains($0) } }

    func close() {
        committer.leaveUnsynced(made)
        opened.removeAll()
        unsynced.removeAll()
        changed.removeAll()
        reached.removeAll()
        settled.removeAll()
        made.removeAll()
    }

    private func sync(_ holders: [DirectoryHandle], since failures: Int) throws(Failure) {
        for case let error? in committer.commit(holders, since: failures, making: made) {
            throw fail(error)
        }
        unsynced.removeAll { handle in holders.contains { $0 === handle } }
        changed.subtract(holders.map(ObjectIdentifier.init))
    }

    /// Another batch that created one of these directories may have failed meanwhile, or be about to: one sync may have
    /// received the error while others are still running.
    private func checkTrust(in paths: [RelativePath]) throws(Failure) {
        if let lastLook { _ = committer.isInDoubt(about: lastLook) }
        for path in paths { try committer.directories.checkTrust(in: path) }
    }

    /// Opens a separate descriptor for this batch: the kernel reports a failure once to each descriptor, so a shared
    /// one might report it to another batch.
    private func openRoot() throws(SystemError) -> DirectoryHandle {
        committer.isNeeded ? try tree.root.openDirectory(".") : tree.root
    }

    /// - Returns: nil if the directory does not exist, or if its name is not known to be durable.
    private func existing(_ path: RelativePath) throws(Failure) -> DirectoryHandle? {
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

    /// The mode for a new directory. In the trash it copies that of the original directory, or is 0700 if that is gone.
    private func permissions(of path: RelativePath, _ mode: mode_t) -> mode_t {
        guard path.leadsToTrash else { return mode }
        guard let before = path.placeBeforeTrash, let parent = try? tree.open(before.parent),
            let status = try? parent.status(String(before.name)), status.isDirectory
        else { return 0o700 }
        return status.st_mode & 0o777 | 0o700
    }

    /// - Returns: false if the name is taken.
    func make(_ path: RelativePath, in parent: DirectoryHandle, _ mode: mode_t) throws(Failure) -> Bool {
        let mode = permissions(of: path, mode)
        return try attempt("create the directory \(path)") { () throws(SystemError) in
            do throws(SystemError) {
                try parent.makeDirectory(String(path.name), mode: mode)
                return true
            } catch {
                guard error.isExisting else { throw error }
                return false
            }
        }
    }

    private func openOrMake(
        _ path: RelativePath, _ mode: mode_t, _ replacing: (() throws(Failure) -> Bool)?
    ) throws(Failure) -> DirectoryHandle {
        let parent = try open(path.parent)
        let name = String(path.name)
        let moment = committer.moment
        let isNew: Bool
        if let replacing { isNew = try replacing() } else { isNew = try make(path, in: parent, mode) }
        change(parent)
        if isNew {
            made.append(path)
            committer.directories.trust(path)
        } else {
            lastLook = moment
            try committer.directories.checkTrust(in: path)
        }
        let directory = try attempt("open the directory") { () throws(SystemError) in
            if path.parent == nil { try tree.check(path) }
            return try parent.openDirectory(name)
        }
        reached.append((path, parent))
        return directory
    }
}
