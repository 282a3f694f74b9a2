internal import CLinux
import Glibc
import TransferModel
import TransferPorts
import TransferSystem

/// Gives files that are about to be replaced a name in the trash before they lose their own: a hard link if the file
/// system supports it, so that nothing is copied and a file is never without a name. Belongs to one task at a time.
///
/// The order is link, sync, replace. `keep` links, and many links share one sync: `settle`, or a sync by the caller
/// (`unsynced`, `finish`). `close` removes the names of files that were not replaced.
final class ReplacedFiles {
    /// A name in the trash, and the file for which it was made.
    final class Keeping {
        let path: RelativePath
        let place: RelativePath
        let batch: TrashBatch
        /// The file at the path, before it got the second name.
        let before: stat
        /// Whether it has the second name already. Without hard links it is moved instead, right before it is replaced.
        let isLinked: Bool
        /// Whether the path has been given to another file.
        fileprivate(set) var isUsed = false

        init(_ path: RelativePath, at place: RelativePath, in batch: TrashBatch, _ before: stat, isLinked: Bool) {
            (self.path, self.place, self.batch, self.before, self.isLinked) = (path, place, batch, before, isLinked)
        }
    }

    /// The outcome of one attempt to keep a file.
    private enum Try {
        case kept(Keeping)
        /// The place in the trash is taken.
        case taken
        /// The file cannot be kept, or is gone.
        case impossible
    }

    private let tree: DirectoryTree
    private let incoming: Incoming
    /// Counts stored bytes; nil without a limit.
    private let quota: Quota?
    private let directories: BatchDirectories
    private var keepings: [Keeping] = []
    /// Folders that were created in the trash and hold no kept file.
    private var unused: Set<RelativePath> = []
    /// The files that got a second name; nil before the first one.
    private(set) var touching: TouchingFiles?
    /// The device of the trash; nil before it was looked up.
    private var device: dev_t?

    /// The most folders of the trash that are open at once.
    private static let mostOpened = 64

    /// How many trash batches are tried: the path may be taken in the first one, and another lane may take it in
    /// the second.
    private static let mostBatches = 8

    init(_ tree: DirectoryTree, _ incoming: Incoming, _ quota: Quota?) {
        (self.tree, self.incoming, self.quota) = (tree, incoming, quota)
        directories = BatchDirectories(tree, incoming.committer)
    }

    /// Gives a file or link a second name in a trash batch that does not have the path yet.
    ///
    /// - Parameters:
    ///   - found: the status that the caller has seen.
    ///   - failures: the number of failed syncs when the batch was begun.
    /// - Returns: nil if the file cannot be kept there, because it is on another file system or its name does not fit,
    ///   or if it is gone.
    /// - Throws: if there is no room for the name, or the disk fails; then the file must not be replaced.
    func keep(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, to part: OpenTrashBatch, since failures: Int
    ) throws(Failure) -> Keeping? {
        for _ in 0..<Self.mostBatches {
            let batch = part.current
            switch try attemptKeep(path, found, in: parent, .trash(batch, path), batch, since: failures) {
            case .kept(let keeping): return keeping
            case .taken: part.renew(behind: batch)
            case .impossible: return nil
            }
        }
        throw Failure(.busy, "\(path) is replaced again and again: send it again later.")
    }

    /// Gives a file or link a second name at a place in the trash that was decided before.
    ///
    /// - Throws: `pathConflict` if the place is taken.
    func keep(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, at place: RelativePath, _ batch: TrashBatch,
        since failures: Int
    ) throws(Failure) -> Keeping? {
        switch try attemptKeep(path, found, in: parent, place, batch, since: failures) {
        case .kept(let keeping): return keeping
        case .taken: throw .taken(place)
        case .impossible: return nil
        }
    }

    /// Bytes to free when there is no room for a name: a block on most file systems.
    private static let nameSize: UInt64 = 4096

    /// Tries again once after freeing room in the trash, if the disk is full.
    private func attemptKeep(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, _ place: RelativePath, _ batch: TrashBatch,
        since failures: Int
    ) throws(Failure) -> Try {
        do throws(Failure) {
            return try keepOnce(path, found, in: parent, place, batch, since: failures)
        } catch {
            guard error.code == .insufficientStorage, incoming.room.makeRoom(.disk(Self.nameSize)) else { throw error }
            return try keepOnce(path, found, in: parent, place, batch, since: failures)
        }
    }

    private func keepOnce(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, _ place: RelativePath, _ batch: TrashBatch,
        since failures: Int
    ) throws(Failure) -> Try {
        guard found.isFile || found.isLink, try isOnDisk(of: found),
            let folder = try open(place.parent, since: failures)
        else { return .impossible }
        place.parent.map { _ = unused.insert($0) }
        let made = try link(path, found, in: parent, to: folder, place, batch, since: failures)
        if case .kept = made { place.parent.map { _ = unused.remove($0) } }
        return made
    }

    private func link(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, to folder: DirectoryHandle,
        _ place: RelativePath, _ batch: TrashBatch, since failures: Int
    ) throws(Failure) -> Try {
        do throws(Failure) {
            return try link(path, found, in: parent, to: folder, place, batch)
        } catch {
            // Another lane has found the folder empty and removed it.
            guard error.code == .notFound else { throw error }
            try settle(since: failures)
            directories.close()
            guard let folder = try open(place.parent, since: failures) else { return .impossible }
            return try link(path, found, in: parent, to: folder, place, batch)
        }
    }

    /// - Throws: `notFound` if the folder is gone, and others.
    private func link(
        _ path: RelativePath, _ found: stat, in parent: DirectoryHandle, to folder: DirectoryHandle,
        _ place: RelativePath, _ batch: TrashBatch
    ) throws(Failure) -> Try {
        let (name, newName) = (String(path.name), String(place.name))
        tell(found)
        do throws(SystemError) {
            try parent.disk.link(from: parent.number, name, to: (folder.number, newName))
        } catch {
            switch error.errno {
            case EEXIST: return .taken
            case EXDEV, ENAMETOOLONG: return .impossible
            case ENOENT:
                let isThere =
                    try attempt("look at \(path)") { () throws(SystemError) in try parent.status(name) } != nil
                if isThere { throw .notFound(path) }
                return .impossible
            // The file system has no hard links, does not permit them for another user's file, or has no more for this
            // one.
            case EPERM, EOPNOTSUPP, ENOTSUP, EMLINK, ENOSYS, EINVAL:
                return try reserve(path, found, folder, place, batch)
            default: throw Failure(error, doing: "keep \(path) in the trash")
            }
        }
        directories.change(folder)
        let linked = try attempt("look at \(place)") { () throws(SystemError) in try folder.status(newName) }
        // Another file may have taken the path since it was looked up.
        let before = linked.map { found.isSame(as: $0) ? found : $0 } ?? found
        if !before.isSame(as: found) { tell(before) }
        return .kept(add(Keeping(path, at: place, in: batch, before, isLinked: true)))
    }

    /// Announces that the file's version is about to change, though not its content.
    private func tell(_ found: stat) {
        guard found.isFile else { return }
        let touching = touching ?? TouchingFiles(incoming)
        self.touching = touching
        touching.add(ContentVersion(found))
    }

    private func reserve(
        _ path: RelativePath, _ found: stat, _ folder: DirectoryHandle, _ place: RelativePath, _ batch: TrashBatch
    ) throws(Failure) -> Try {
        let there = try attempt("look at \(place)") { () throws(SystemError) in
            try folder.status(String(place.name))
        }
        return there == nil ? .kept(add(Keeping(path, at: place, in: batch, found, isLinked: false))) : .taken
    }

    private func add(_ keeping: Keeping) -> Keeping {
        keepings.append(keeping)
        return keeping
    }

    /// Whether the trash is on the file system of a file.
    private func isOnDisk(of found: stat) throws(Failure) -> Bool {
        if device == nil {
            guard let trash = try open(.trashFolder, since: incoming.committer.failures) else { return false }
            device = try attempt("look at the trash") { () throws(SystemError) in
                let (own, other) = (try trash.disk.status(trash.number), incoming.directory)
                // What is synced together has to be on one file system.
                return own.st_dev == (try other.disk.status(other.number)).st_dev ? own.st_dev : nil
            }
        }
        return device == found.st_dev
    }

    /// - Returns: nil if the path leads over something other than a folder, for example because the operator has
    ///   replaced the trash by a link.
    private func open(_ folder: RelativePath?, since failures: Int) throws(Failure) -> DirectoryHandle? {
        if directories.count >= Self.mostOpened, !directories.isOpen(folder) {
            try settle(since: failures)
            directories.close()
        }
        do throws(Failure) {
            return try directories.open(folder)
        } catch {
            guard error.code == .invalidPath || error.code == .pathConflict else { throw error }
            return nil
        }
    }
}

// MARK: Syncing

extension ReplacedFiles {
    /// Folders of the trash with names that are not durable, for a caller that syncs them together with something else
    /// and then calls `finish`.
    var unsynced: [DirectoryHandle] { directories.unsynced }

    /// New folders among `unsynced`, whose own names are not durable either.
    var made: [RelativePath] { directories.made }

    /// - Parameter errors: the result for each folder in `unsynced`, in their order.
    /// - Throws: if a name is not durable; then no file may be replaced.
    func finish(_ errors: some Sequence<SystemError?>) throws(Failure) { try directories.finish(errors) }

    /// Syncs all names in the trash.
    func settle(since failures: Int) throws(Failure) {
        guard directories.hasUnsynced else { return }
        try directories.commit(since: failures)
    }
}

// MARK: Replacing

extension ReplacedFiles {
    /// Moves a file that could not be linked, right before its path is given to another one.
    func move(_ keeping: Keeping, from parent: DirectoryHandle, _ name: String, since failures: Int) throws(Failure) {
        guard !keeping.isLinked else { return }
        guard let folder = try open(keeping.place.parent, since: failures) else { throw .notFound(keeping.place) }
        try attempt("keep \(keeping.place) in the trash") { () throws(SystemError) in
            try incoming.move(name, in: parent, toFree: String(keeping.place.name), in: folder)
        }
        directories.change(folder)
    }

    /// Gives a moved file its path back, because it was not replaced.
    func moveBack(_ keeping: Keeping, to parent: DirectoryHandle, _ name: String) {
        guard !keeping.isLinked, let folder = try? directories.open(keeping.place.parent) else { return }
        try? incoming.move(String(keeping.place.name), in: folder, toFree: name, in: parent)
    }

    /// Notes that the path was given to another file.
    ///
    /// - Returns: the kept file; nil if it was removed from the trash meanwhile to free room.
    func use(_ keeping: Keeping, since failures: Int) -> KeptFile? {
        keeping.isUsed = true
        let folder = (try? open(keeping.place.parent, since: failures)) ?? nil
        let found = (try? folder?.status(String(keeping.place.name))) ?? nil
        guard let after = found, after.isSame(as: keeping.before) else { return nil }
        let version =
            after.isFile
            ? KeptFile.Versions(before: ContentVersion(keeping.before), after: ContentVersion(after)) : nil
        return KeptFile(place: keeping.place, in: keeping.batch, version: version)
    }

    /// Removes the name in the trash, because another file had the path by then.
    func undo(_ keeping: Keeping) {
        keepings.removeAll { $0 === keeping }
        takeAway(keeping).map { removeEmpty([$0]) }
    }

    /// Removes the names of files that were not replaced.
    ///
    /// - Returns: the linked files that still have their paths.
    @discardableResult
    func close() -> [TouchedFile] {
        let folders = unused.union(keepings.compactMap(takeAway))
        let touched = keepings.compactMap(touched)
        removeEmpty(folders)
        directories.close()
        (keepings, unused) = ([], [])
        return touched
    }

    /// - Returns: nil if the file was replaced, or was never linked.
    private func touched(_ keeping: Keeping) -> TouchedFile? {
        guard !keeping.isUsed, keeping.isLinked, keeping.before.isFile,
            let parent = try? tree.open(keeping.path.parent),
            let after = (try? parent.status(String(keeping.path.name))) ?? nil, after.isSame(as: keeping.before)
        else { return nil }
        let versions = KeptFile.Versions(before: ContentVersion(keeping.before), after: ContentVersion(after))
        // Another program may have written to the file meanwhile.
        guard versions.after.hasSameContent(as: versions.before), versions.after != versions.before else { return nil }
        return TouchedFile(keeping.path, versions)
    }

    /// - Returns: the folder that lost a name; nil if none did.
    private func takeAway(_ keeping: Keeping) -> RelativePath? {
        guard !keeping.isUsed else { return nil }
        if keeping.isLinked, let folder = try? tree.open(keeping.place.parent) {
            unlink(String(keeping.place.name), in: folder)
        }
        return keeping.place.parent
    }

    /// Removes a name in the trash. If the file has lost its path meanwhile, it has counted until now because of this
    /// name.
    private func unlink(_ name: String, in folder: DirectoryHandle) {
        let last = quota == nil ? nil : (try? folder.status(name)) ?? nil
        guard (try? folder.unlink(name)) != nil, let last, last.isFile, last.st_nlink == 1 else { return }
        quota?.removed(UInt64(max(0, last.st_size)))
    }

    private func removeEmpty(_ folders: Set<RelativePath>) {
        var gone: Set<RelativePath> = []
        for folder in folders { gone.formUnion(tree.removeEmptyTrash(folder, incoming.committer.directories)) }
        // The names of these folders no longer have to become durable.
        directories.drop(gone)
    }
}

extension DirectoryTree {
    /// Removes an empty folder of the trash, and those above it that become empty by that.
    ///
    /// - Returns: the folders that were removed.
    @discardableResult
    func removeEmptyTrash(_ folder: RelativePath, _ durable: DurableDirectories) -> [RelativePath] {
        var gone: [RelativePath] = []
        var next: RelativePath? = folder
        while let path = next, path.leadsToTrash, path != .trashFolder, let parent = try? open(path.parent) {
            do throws(SystemError) {
                try parent.disk.removeDirectory(parent.number, String(path.name))
            } catch {
                return gone
            }
            durable.forget(path)
            gone.append(path)
            next = path.parent
        }
        return gone
    }
}

/// The versions of files from before they got a second name in the trash. `Incoming.keeps` has them while this object
/// lives, which must be until the catalog has recorded their new versions.
final class TouchingFiles: Sendable {
    private let incoming: Incoming
    private let versions = Locked<[ContentVersion]>([])

    init(_ incoming: Incoming) { self.incoming = incoming }

    deinit {
        let versions = versions.withLock { $0 }
        incoming.keeps.withLock { keeps in
            for version in versions { keeps.remove(version) }
        }
    }

    func add(_ version: ContentVersion) {
        versions.withLock { $0.append(version) }
        incoming.keeps.withLock { $0.add(version) }
    }
}

/// Files with a second name in the trash, because they are about to be replaced. The name changes their ctime, which is
/// part of the version, and they may keep their paths in the end; then the catalog gets their new versions.
struct KeepsUnderWay {
    /// Their previous versions by object. Two batches may be about to replace one file.
    private var versions: [UInt64: [ContentVersion]] = [:]

    mutating func add(_ version: ContentVersion) { versions[version.object, default: []].append(version) }

    mutating func remove(_ version: ContentVersion) {
        guard let index = versions[version.object]?.firstIndex(of: version) else { return }
        versions[version.object]?.remove(at: index)
        if versions[version.object]?.isEmpty ?? false { versions[version.object] = nil }
    }

    func contains(_ version: ContentVersion) -> Bool { versions[version.object]?.contains(version) ?? false }
}
