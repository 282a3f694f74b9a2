internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

extension FileStore {
    package func changes(for command: StoringCommand?) -> any TreeEditing { DirectoryChanges(self, for: command) }

    /// An editor that makes folders and links, and changes existing entries.
    ///
    /// - Parameters:
    ///   - command: the command that the changes are part of; nil if it is unknown.
    ///   - places: keeps replaced files; nil to remove them for good.
    func editor(for command: StoringCommand? = nil, keeping places: KeptPlaces? = nil) -> TreeEditor {
        TreeEditor(tree, incoming, rights: rights, space, for: command, keeping: places) { [incoming] in
            incoming.directory
        }
    }

    /// Places in the trash for one batch of changes.
    func keptPlaces() -> KeptPlaces { KeptPlaces(tree, incoming, space?.quota) }

    /// The file, folder or link at a path. The content is not read.
    ///
    /// - Returns: nil if the path does not exist, or is something else, such as a FIFO.
    /// - Throws: if the path cannot be examined.
    package func object(at path: RelativePath) throws(Failure) -> FoundObject? { try tree.object(at: path) }

    /// Syncs the names in the folders of these paths, and in those above.
    ///
    /// - Returns: false if a sync fails, or if one of the folders exists and is in doubt, because syncing its parent
    ///   then proves nothing.
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
            // Waits for earlier syncs of other batches, which may put one of the folders in doubt.
            _ = incoming.committer.isInDoubt(about: moment)
            for folder in folders where try tree.object(at: folder) != nil {
                try incoming.committer.directories.checkTrust(in: folder)
            }
            return true
        } catch {
            return false
        }
    }

    /// Whether one of the folders of these paths exists and is in doubt, so that a sync of it proves nothing.
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

    /// The trash batches, in no order; with a folder, those that have something below it.
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
    /// The room that removing a trash batch would free. Examines every file in it.
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

    /// Sets the handler that frees room before an upload is refused for lack of it.
    ///
    /// - Parameter body: called on any thread without locks; returns whether it has freed room.
    package func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) { incoming.room.set(body) }

    /// Whether all calls to the disk come from one thread.
    package var isSerial: Bool { tree.root.disk.isSerial }

    /// Removes empty folders of the trash.
    package func tidyTrash(_ folders: Set<RelativePath>) {
        for folder in folders { tree.removeEmptyTrash(folder, incoming.committer.directories) }
    }
}
