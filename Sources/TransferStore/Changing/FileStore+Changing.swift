import Glibc
package import TransferModel
import TransferSystem

extension FileStore {
    /// To make folders and links with, and to change what is there.
    ///
    /// - Parameters:
    ///   - command: the command that it makes changes for, where that is known.
    ///   - places: where what gives way is kept; nil where it is gone for good.
    package func editor(for command: StoringCommand? = nil, keeping places: KeptPlaces? = nil) -> TreeEditor {
        TreeEditor(tree, incoming, rights: rights, space, for: command, keeping: places) { [incoming] in
            incoming.directory
        }
    }

    /// For what gives way to a batch of changes.
    package func keptPlaces() -> KeptPlaces { KeptPlaces(tree, incoming, space?.quota) }

    /// What has a path, without a look at its content.
    ///
    /// - Returns: nothing where there is none, also for what is no file, folder or link.
    /// - Throws: where nobody can say what is there.
    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { try tree.object(at: path) }

    /// Makes durable what names there are in the folders of these paths, and above.
    ///
    /// - Returns: false where that cannot be done, and where one of the folders is there and is doubted: a sync of what holds its
    ///   name says nothing of that.
    package func confirmNames(of paths: [RelativePath]) -> Bool {
        let moment = incoming.committer.moment
        var folders: Set<RelativePath> = []
        for path in paths {
            var next = path.parent
            while let folder = next, folders.insert(folder).inserted { next = folder.parent }
        }
        do throws(Failure) {
            var editor = editor()
            try editor.confirmNames(in: nil)
            for folder in folders.sorted(by: { PathKey($0.string) < PathKey($1.string) }) {
                if editor.isFull {
                    try editor.commit()
                    editor = self.editor()
                }
                try editor.confirmNames(in: folder)
            }
            try editor.commit()
            // One that another batch has made may just be told to be lost.
            _ = incoming.committer.isInDoubt(about: moment)
            for folder in folders where try tree.object(at: folder) != nil {
                try incoming.committer.directories.checkTrust(in: folder)
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether one of the folders of these paths is there and is doubted: no sync of it proves anything.
    package func isDoubted(_ paths: [RelativePath]) -> Bool {
        for path in paths {
            var next = path.parent
            while let folder = next {
                do throws(Failure) {
                    if try tree.object(at: folder) != nil { try incoming.committer.directories.checkTrust(in: folder) }
                } catch {
                    return true
                }
                next = folder.parent
            }
        }
        return false
    }

    /// The parts of the trash, in no order; those alone that have something below a folder, where one is given.
    package func trash(below folder: RelativePath?) throws(Failure) -> [TrashBatch] {
        let batches = try attempt("look into the trash") { () throws(SystemError) -> [TrashBatch] in
            do throws(SystemError) {
                return try tree.open(.trashFolder).names().compactMap(TrashBatch.init)
            } catch {
                guard error.errno == ENOENT else { throw error }
                return []
            }
        }
        guard let folder else { return batches }
        return batches.filter { (try? tree.open(.trash($0, folder))) != nil }
    }
}

extension DirectoryTree {
    func object(at path: RelativePath) throws(Failure) -> FoundObject? {
        do throws(SystemError) {
            try check(path)
            return try open(path.parent).status(String(path.name)).flatMap(FoundObject.init)
        } catch {
            if [ENOENT, ENOTDIR, ELOOP].contains(error.errno) { return nil }
            throw Failure(error, reading: path)
        }
    }
}
