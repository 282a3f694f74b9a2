import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

extension PullDirectory {
    /// An editor that makes folders and links in this directory, and changes existing entries.
    package func editor() -> TreeEditor {
        TreeEditor(tree, incoming, rights: rights) { [self] () throws(Failure) in try notesFolder() }
    }

    /// Sets the attributes of the directory itself, durably. Call it after `tidy`, because every change of a name in
    /// the directory changes its time.
    package func setTop(
        permissions: UInt16?, modified: Timestamp?, _ extra: ExtraAttributes?
    ) throws(Failure) {
        try localized { () throws(Failure) in
            let root = tree.root
            let permissions = permissions.map { mode_t(rights.added(to: $0, isFolder: true)) }
            try attempt("set the attributes of the directory") { () throws(SystemError) in
                try root.disk.set(root.number, permissions: permissions, modified: modified, extra)
            }
            try attempt("make the change durable") { () throws(SystemError) in
                try root.sync()
            }
        }
    }
}

extension TreeEditor {
    /// Removes a file or link for good, or a folder that is empty.
    ///
    /// - Parameters:
    ///   - form: the form that it must have; nil for any.
    ///   - compared: the state that the entry must still have; nil for any.
    /// - Throws: `notFound`; `pathConflict` if a folder is not empty; `sourceChanged` if it is not the compared entry.
    package func remove(
        _ path: RelativePath, of form: FoundObject.Form? = nil, as compared: ComparedFile? = nil
    ) throws(Failure) {
        let parent = try existing(path.parent, path)
        let name = String(path.name)
        guard let status = try status(of: path, in: parent), let found = FoundObject(status) else {
            throw .notFound(path)
        }
        if let form, found.form != form { throw .changed(path) }
        directories.change(parent)
        guard status.isDirectory else {
            return try incoming.replacing.withLock { _ throws(Failure) in
                try compared?.check(try self.status(of: path, in: parent), path)
                try attempt("remove \(path)") { () throws(SystemError) in try parent.unlink(name) }
            }
        }
        try compared?.check(status, path)
        do throws(SystemError) {
            try disk.removeDirectory(parent.number, name)
        } catch {
            guard error.errno == ENOTEMPTY || error.errno == EEXIST else {
                throw Failure(error, doing: "remove \(path)")
            }
            throw Failure(.pathConflict, "\(path) is not empty, and was not removed.")
        }
        incoming.committer.directories.forget(path)
    }
}

extension PullDirectory {
    /// The entry at a path in this directory, with all its attributes.
    ///
    /// - Returns: nil if it does not exist or cannot be examined.
    package func whole(_ path: RelativePath) -> WholeEntry? {
        guard let parent = try? tree.open(path.parent) else { return nil }
        return try? WholeEntry(path, named: String(path.name), in: parent)
    }
}
