internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

extension FileStore {
    package func changes(for command: StoringCommand?) -> any TreeEditing { DirectoryChanges(self, for: command) }

    /// To make folders and links with, and to change what is there.
    ///
    /// - Parameters:
    ///   - command: the command that it makes changes for, where that is known.
    ///   - places: where what gives way is kept; nil where it is gone for good.
    func editor(for command: StoringCommand? = nil, keeping places: KeptPlaces? = nil) -> TreeEditor {
        TreeEditor(tree, incoming, rights: rights, space, for: command, keeping: places) { [incoming] in
            incoming.directory
        }
    }

    /// For what gives way to a batch of changes.
    func keptPlaces() -> KeptPlaces { KeptPlaces(tree, incoming, space?.quota) }

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

extension FileStore {
    /// What would be free without a part of the trash. Looks at every file in it.
    package func freeable(_ batch: TrashBatch) -> FreeableRoom {
        var walk = StoredWalk(tree, from: .trash(batch, nil))
        var sum = FreeableRoom()
        while let item = walk.next() {
            guard case .file(let place) = item,
                let status = (try? place.directory.status(String(place.path.name))) ?? nil, status.st_nlink < 2
            else { continue }
            sum.stored = sum.stored.addingClamped(ContentVersion(status).size)
            sum.onDisk = sum.onDisk.addingClamped(status.space)
        }
        return sum
    }

    /// Has somebody make room where it is missing, before anything is refused for that.
    ///
    /// - Parameter body: called on any thread, without a lock that others wait for; says whether there is more room than before.
    package func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) { incoming.room.set(body) }

    /// Whether calls to the disk come one after the other, on one thread.
    package var isSerial: Bool { tree.root.disk.isSerial }

    /// Removes empty folders of the trash.
    package func tidyTrash(_ folders: Set<RelativePath>) {
        for folder in folders { tree.removeEmptyTrash(folder, incoming.committer.directories) }
    }
}
