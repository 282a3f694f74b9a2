internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

// MARK: Moving

extension TreeEditor {
    /// Gives a file, folder or link another path.
    ///
    /// - Parameters:
    ///   - replaces: whether a file or link at the target is replaced.
    ///   - expected: the object that has to be moved; nil for any.
    ///   - compared: the content that the file must still have; nil for any.
    /// - Throws: `notFound`; `pathConflict` if the target is taken; `invalidPath` to move a folder into itself;
    ///   `busy` if another object has the path; `sourceChanged` if the content is not the compared one.
    package func move(
        _ path: RelativePath, to target: RelativePath, replaces: Bool = false,
        expecting expected: ContentVersion? = nil, as compared: ComparedFile? = nil
    ) throws(Failure) -> Moved {
        guard target.below(path) == nil else {
            throw Failure(.invalidPath, "\(path) cannot be moved into itself.")
        }
        try incoming.committer.directories.checkTrust(below: path)
        let parent = try existing(path.parent, path)
        guard let found = try status(of: path, in: parent), found.isFile || found.isDirectory || found.isLink else {
            throw .notFound(path)
        }
        let directory = try directories.open(target.parent)
        if let status = try status(of: target, in: directory) {
            let isSame = status.isSame(as: found)
            if isSame, target == path {
                return Moved(version: found.isFile ? (ContentVersion(found), ContentVersion(found)) : nil)
            }
            if !isSame || !found.hasOneName {
                guard !found.isDirectory else { throw .taken(target) }
                try checkReplaceable(target, status, replaces)
            }
        }
        // An entry with a durable name must not depend on a folder whose name is not durable.
        try directories.settle(target.parent, before: path, since: failures)
        try rename(path, in: parent, target, in: directory, replaces: replaces, expected, compared)
        directories.change(parent)
        directories.change(directory)
        if path.leadsToTrash, let folder = path.parent { emptied.insert(folder) }
        if found.isDirectory {
            incoming.committer.directories.forget(path)
            hasMovedFolder = true
        }
        guard found.isFile, let now = try status(of: target, in: directory) else { return Moved(version: nil) }
        let version = ContentVersion(now)
        if replaces { incoming.commands.withLock { $0.add(version, of: command, at: target) } }
        return Moved(version: (ContentVersion(found), version))
    }

    /// Creates the folders for a batch of moves and syncs their names together; otherwise each move would sync its own
    /// before it removes the old name. To be called before anything is changed. If a folder cannot be created, its move
    /// fails; if a sync fails, the whole batch fails.
    ///
    /// - Parameter others: paths that other changes of the batch touch. Folders at or below these paths, or those of a
    ///   move, are not created here but when their change is made.
    package func prepare(_ moves: [Renaming], beside others: [RelativePath] = []) {
        let committer = incoming.committer
        guard committer.isNeeded else { return }
        let touched = Set(moves.flatMap { [$0.path, $0.target] } + others)
        let ahead = BatchDirectories(tree, committer)
        for (path, target) in moves {
            guard let folder = target.parent, path.below(folder) == nil, !committer.directories.contains(folder),
                !folder.isIn(touched)
            else { continue }
            if ahead.count >= Self.mostOpened, !ahead.isOpen(folder) {
                try? ahead.commit(since: failures)
                directories.adoptFailure(of: ahead)
                ahead.close()
            }
            _ = try? ahead.open(folder)
        }
        try? ahead.commit(since: failures)
        directories.adoptFailure(of: ahead)
        ahead.close()
    }

    /// Renames with the lock for replacements held, so that the entry that was checked is the one that is moved.
    private func rename(
        _ path: RelativePath, in parent: DirectoryHandle, _ target: RelativePath, in directory: DirectoryHandle,
        replaces: Bool, _ expected: ContentVersion?, _ compared: ComparedFile?
    ) throws(Failure) {
        let (name, newName) = (String(path.name), String(target.name))
        let outcome = try incoming.replacing.withLock { _ throws(Failure) -> Bool in
            let found = try status(of: path, in: parent)
            if let found {
                try Self.check(found, is: expected, path)
                try compared?.check(found, path)
            }
            if replaces, let there = try status(of: target, in: directory), found?.isSame(as: there) == false {
                try incoming.check(there, command, target, in: tree)
            }
            if replaces {
                let replaced = try status(of: target, in: directory)
                guard let found, let replaced, found.isSame(as: replaced) else {
                    try keeping(replaced, at: target, in: directory) { () throws(Failure) in
                        try attempt("move \(path)") { () throws(SystemError) in
                            try disk.rename(parent.number, name, to: (directory.number, newName))
                        }
                    }
                    return true
                }
            }
            return try attempt("move \(path)") { () throws(SystemError) in
                if replaces, let found {
                    return try OneFile(disk, found).rename(name, in: parent, to: newName, in: directory)
                }
                do throws(SystemError) {
                    try incoming.move(name, in: parent, toFree: newName, in: directory)
                    return true
                } catch {
                    // The file system takes both names for one, or the entry is mounted there.
                    guard error.isExisting, let found, found.hasOneName, let there = try directory.status(newName),
                        found.isSame(as: there)
                    else {
                        if error.isExisting { return false }
                        throw error
                    }
                    return try OneFile(disk, found).rename(name, in: parent, to: newName, in: directory)
                }
            }
        }
        guard outcome else { throw .taken(target) }
    }
}

extension RelativePath {
    /// Whether the path is one of these, or below one.
    fileprivate func isIn(_ paths: Set<RelativePath>) -> Bool {
        var next: RelativePath? = self
        while let path = next {
            if paths.contains(path) { return true }
            next = path.parent
        }
        return false
    }
}
