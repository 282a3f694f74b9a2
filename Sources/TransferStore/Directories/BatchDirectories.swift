internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// The directories that a batch of uploads goes to, and which of them have to be made durable.
final class BatchDirectories {
    private let tree: DirectoryTree
    private let committer: Committer
    private var opened: [RelativePath?: DirectoryHandle] = [:]
    /// Directories whose names have to be made durable, in the order in which they came, and which these are.
    private var unsynced: [DirectoryHandle] = []
    private var changed: Set<ObjectIdentifier> = []
    /// Directories whose own names become durable with these, and what has the names.
    private var reached: [(path: RelativePath, parent: DirectoryHandle)] = []
    /// Those of them that were not there before, and whose names are not durable yet.
    private(set) var made: [RelativePath] = []
    /// Those whose names are durable already, and perhaps not those above them.
    private var settled: Set<RelativePath> = []
    /// When one was last found that was there before, as the committer counts.
    private var lastLook: Int?
    /// Of an early sync; counts for the whole batch.
    private var failure: Failure?

    init(_ tree: DirectoryTree, _ committer: Committer) {
        self.tree = tree
        self.committer = committer
    }

    /// Directories that are open; most are in both tables.
    var count: Int { Set(opened.values.lazy.map(ObjectIdentifier.init)).union(changed).count }

    func isOpen(_ path: RelativePath?) -> Bool { opened[path] != nil }

    /// Whether a sync has failed, so that nothing of the batch can be made durable.
    var hasFailed: Bool { failure != nil }

    /// Opens a directory, making what is missing.
    ///
    /// - Parameters:
    ///   - mode: of which the umask leaves the permissions of the directory, where it is made; those above it have 0777. In the trash
    ///     one has those of the directory that it stands for.
    ///   - replacing: makes the directory in place of something else that has the name, and returns false if a directory had it; nil to
    ///     make it where the name is free alone.
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

    /// A name in it was given.
    func change(_ directory: DirectoryHandle) {
        if changed.insert(ObjectIdentifier(directory)).inserted { unsynced.append(directory) }
    }

    /// Makes the names of new folders durable, before something that has a durable name gets another one in there. Otherwise a
    /// disk that loses the folder's name, and not that the old name is gone, loses what was moved: where there is no journal it
    /// may keep either.
    ///
    /// A folder is synced for once in a batch, and not where its name is as durable as that of what is moved.
    ///
    /// - Parameters:
    ///   - folder: where the new name is going to be, and which is open; nil for the top.
    ///   - source: what is going to be moved.
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
            // The kernel has told it, and tells the next sync nothing.
            failure = error
            throw error
        }
        settled.formUnion(open.map(\.path))
        made.removeAll { settled.contains($0) }
        try checkTrust(in: open.map(\.path))
    }

    /// A sync of another batch's that was made for this one: the kernel has told of its failure, and tells this one nothing.
    func adoptFailure(of other: BatchDirectories) { failure = failure ?? other.failure }

    /// Directories that have to be synced, to be synced together with something else; `finish` has to be told what came of it.
    var unsyncedNumbers: [Int32] { unsynced.map(\.number) }

    var hasUnsynced: Bool { !unsynced.isEmpty || failure != nil }

    /// All of `unsyncedNumbers` was synced, with `made` as what that was about.
    ///
    /// - Parameter errors: one for each, in their order.
    func finish(_ errors: some Sequence<SystemError?>) throws(Failure) {
        if let failure { throw failure }
        if let error = errors.lazy.compactMap(\.self).first { throw fail(error) }
        unsynced.removeAll()
        changed.removeAll()
        try trustReached()
    }

    /// Makes all names durable, those of the directories included.
    func commit(since failures: Int) throws(Failure) {
        if let failure { throw failure }
        try sync(unsynced, since: failures)
        try trustReached()
    }

    /// All names are durable.
    private func trustReached() throws(Failure) {
        made.removeAll()
        guard committer.isNeeded else { return }
        try checkTrust(in: reached.map(\.path))
        committer.directories.insert(reached.map(\.path))
    }

    /// They are doubted by now, or noted as not synced.
    private func fail(_ error: SystemError) -> Failure {
        made.removeAll()
        let error = Failure(error, doing: "make a directory durable")
        failure = error
        return error
    }

    /// Directories that were made here and are gone again.
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
        for case let error? in committer.commit(holders.map(\.number), since: failures, making: made) {
            throw fail(error)
        }
        unsynced.removeAll { handle in holders.contains { $0 === handle } }
        changed.subtract(holders.map(ObjectIdentifier.init))
    }

    /// Another batch that made one of them may have failed meanwhile, or is about to: one of its syncs has been told so already,
    /// and others of them are still on their way.
    private func checkTrust(in paths: [RelativePath]) throws(Failure) {
        if let lastLook { _ = committer.isInDoubt(about: lastLook) }
        for path in paths { try committer.directories.checkTrust(in: path) }
    }

    /// A descriptor of its own, because the kernel tells each of a failure once: through a common one another batch might
    /// hear of it instead.
    private func openRoot() throws(SystemError) -> DirectoryHandle {
        committer.isNeeded ? try tree.root.openDirectory(".") : tree.root
    }

    /// - Returns: nothing when it is not there, or when nobody has seen to its name.
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

    /// The mode for a new directory. In the trash it copies that of the original directory, or is 0700 if there is none.
    private func permissions(of path: RelativePath, _ mode: mode_t) -> mode_t {
        guard path.leadsToTrash else { return mode }
        guard let before = path.placeBeforeTrash, let parent = try? tree.open(before.parent),
            let status = try? parent.status(String(before.name)), status.isDirectory
        else { return 0o700 }
        return status.st_mode & 0o777 | 0o700
    }

    /// - Returns: false if something has the name.
    func make(_ path: RelativePath, in parent: DirectoryHandle, _ mode: mode_t) throws(Failure) -> Bool {
        let mode = permissions(of: path, mode)
        return try attempt("make the directory \(path)") { () throws(SystemError) in
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
