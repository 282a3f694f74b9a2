internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Makes folders and links, and changes names and attributes. Nothing is durable before `commit`. Belongs to one task
/// at a time.
///
/// Every change of a name is one atomic call: a reader sees the state before or after it. To replace an entry, the new
/// one is created under another name and renamed.
package final class TreeEditor {
    /// The outcome of a change of a file or folder.
    package struct Moved: Sendable {
        /// The versions of a file before and after; nil for a folder or link.
        package let version: (before: ContentVersion, after: ContentVersion)?
    }

    /// The old and new path of a move.
    package typealias Renaming = (path: RelativePath, target: RelativePath)

    let tree: DirectoryTree
    let incoming: Incoming
    /// Permissions of the owner that files and folders always keep.
    private let rights: OwnerRights
    private let space: Space?
    let command: StoringCommand?
    /// Keeps replaced files; nil to remove them for good.
    private let places: KeptPlaces?
    let directories: BatchDirectories
    /// Returns the directory in which replacements are created first.
    private let scratch: () throws(Failure) -> DirectoryHandle
    /// Files and folders with changed attributes, to be synced.
    private var changed: [OpenFile] = []
    let failures: Int
    /// Folders of the trash that may be empty now, because something was moved out.
    var emptied: Set<RelativePath> = []
    /// Whether open folders may have other paths by now.
    var hasMovedFolder = false

    /// Holds a descriptor in an array.
    private final class OpenFile: SyncableFile {
        private let descriptor: Descriptor
        var number: Int32 { descriptor.number }

        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// The most descriptors that are open at once: a batch may name thousands of folders.
    static let mostOpened = 64

    init(
        _ tree: DirectoryTree, _ incoming: Incoming, rights: OwnerRights, _ space: Space? = nil,
        for command: StoringCommand? = nil, keeping places: KeptPlaces? = nil,
        scratch: @escaping () throws(Failure) -> DirectoryHandle
    ) {
        (self.tree, self.incoming, self.rights, self.scratch) = (tree, incoming, rights, scratch)
        (self.space, self.command, self.places) = (space, command, places)
        directories = BatchDirectories(tree, incoming.committer)
        failures = incoming.committer.failures
    }

    var disk: Disk { tree.root.disk }

    /// Whether `commit` has to be called before the next change.
    package var isFull: Bool {
        hasMovedFolder || directories.hasFailed || directories.count + changed.count >= Self.mostOpened
    }

    /// Syncs all changes. Use another editor for further changes.
    package func commit() throws(Failure) {
        defer {
            directories.close()
            changed = []
        }
        let made = directories.made
        for case let error? in incoming.committer.commit(changed, since: failures, making: made) {
            throw Failure(error, doing: "make the change durable")
        }
        try places?.settle(since: failures)
        try directories.commit(since: failures)
        // Empty folders of the trash are removed without a sync.
        for folder in emptied { tree.removeEmptyTrash(folder, incoming.committer.directories) }
        emptied = []
    }
}

// MARK: Making

extension TreeEditor {
    /// Creates a folder, with those above it, unless it exists.
    ///
    /// - Parameters:
    ///   - replaces: whether a file or link at the path is replaced.
    ///   - compared: the state that the entry to be replaced must still have; nil for any.
    ///   - permissions: the final permissions of the folder, which is created with these and with all permissions for
    ///     its owner. Nil creates it with the default permissions, like the folders above it.
    /// - Throws: `pathConflict` if the name is taken; `sourceChanged` if the entry is not the compared one.
    package func makeDirectory(
        _ path: RelativePath, replaces: Bool = false, as compared: ComparedFile? = nil, permissions: UInt16? = nil
    ) throws(Failure) {
        let parent = try directories.open(path.parent)
        let mode = permissions.map { mode_t($0 & 0o777 | 0o700) } ?? 0o777
        guard let status = try status(of: path, in: parent), !status.isDirectory else {
            _ = try directories.open(path, mode: mode)
            return
        }
        guard replaces else { throw .taken(path) }
        _ = try directories.open(path, mode: mode) { () throws(Failure) in
            try self.replaceByFolder(path, in: parent, mode, compared)
        }
    }

    /// Replaces a file or link by a folder: the folder is created under another name, and then both names are exchanged
    /// in one step. So nothing is replaced if the folder cannot be created.
    ///
    /// - Returns: false if the name has a folder by now.
    private func replaceByFolder(
        _ path: RelativePath, in parent: DirectoryHandle, _ mode: mode_t, _ compared: ComparedFile?
    ) throws(Failure) -> Bool {
        let (scratch, other) = (try scratch(), StagedFile.scratchName())
        try attempt("create the folder \(path)") { () throws(SystemError) in
            try scratch.makeDirectory(other, mode: mode)
        }
        let isReplaced: Bool
        do throws(Failure) {
            isReplaced = try incoming.replacing.withLock { _ throws(Failure) in
                let found = try status(of: path, in: parent)
                try compared?.check(found, path)
                guard let found, !found.isDirectory else { return false }
                try incoming.check(found, command, path, in: tree)
                try keeping(found, at: path, in: parent) { () throws(Failure) in
                    try attempt("create the folder \(path)") { () throws(SystemError) in
                        try exchange((scratch, other), with: (parent, String(path.name)), mode)
                    }
                }
                return true
            }
        } catch {
            try? disk.removeDirectory(scratch.number, other)
            throw error
        }
        guard isReplaced else {
            try? disk.removeDirectory(scratch.number, other)
            return try directories.make(path, in: parent, mode)
        }
        return true
    }

    /// Exchanges the names of a new folder and a file or link, and removes the latter.
    private func exchange(
        _ new: (directory: DirectoryHandle, name: String), with old: (directory: DirectoryHandle, name: String),
        _ mode: mode_t
    ) throws(SystemError) {
        do throws(SystemError) {
            try disk.exchange(new.directory.number, new.name, with: (old.directory.number, old.name))
            try? new.directory.unlink(new.name)
        } catch {
            // The file system cannot exchange names, the folder is on another mount than the scratch directory, or the
            // replaced entry was moved to the trash.
            guard [EINVAL, ENOSYS, ENOTSUP, EXDEV, ENOENT].contains(error.errno) else { throw error }
            try? disk.removeDirectory(new.directory.number, new.name)
            try makeDirectoryInPlace(of: old.name, in: old.directory, mode)
        }
    }

    /// Replaces a file or link by a folder in two steps. The entry gets its name back if the folder cannot be created.
    private func makeDirectoryInPlace(
        of name: String, in parent: DirectoryHandle, _ mode: mode_t
    ) throws(SystemError) {
        guard try parent.status(name) != nil else { return try parent.makeDirectory(name, mode: mode) }
        let aside = StagedFile.scratchName()
        try disk.rename(parent.number, name, to: (parent.number, aside))
        do throws(SystemError) {
            try parent.makeDirectory(name, mode: mode)
        } catch {
            try? incoming.move(aside, in: parent, toFree: name, in: parent)
            throw error
        }
        try parent.unlink(aside)
    }

    /// Creates a symbolic link with a target, which is never followed by the server.
    ///
    /// - Parameter compared: the state that the entry to be replaced must still have; nil for any.
    package func makeLink(
        _ path: RelativePath, to target: [UInt8], replaces: Bool, as compared: ComparedFile? = nil
    ) throws(Failure) {
        let parent = try directories.open(path.parent)
        let name = String(path.name)
        if let status = try status(of: path, in: parent) {
            let isSame = try attempt("look at \(path)") { () throws(SystemError) in
                status.isLink ? try disk.readLink(parent.number, name) == target : false
            }
            if isSame { return directories.change(parent) }
            try checkReplaceable(path, status, replaces)
        }
        try put(path, in: parent, replaces: replaces, compared) { (directory, name) throws(SystemError) in
            try directory.disk.makeLink(directory.number, name, to: target)
        }
    }

    /// Gives a file another name, as a hard link.
    ///
    /// - Parameters:
    ///   - expected: the object that the source has to be; nil for any file.
    ///   - compared: the state that the entry to be replaced must still have; nil for any.
    ///   - known: the content that the source must still have; nil for any.
    /// - Throws: `notFound`; `wrongForm` if the source is not a file; `busy` if it is another object; `sourceChanged`
    ///   if a content is not the compared one.
    package func makeHardLink(
        _ path: RelativePath, to source: RelativePath, replaces: Bool, expecting expected: ContentVersion? = nil,
        as compared: ComparedFile? = nil, sourceAs known: ComparedFile? = nil
    ) throws(Failure) -> Moved {
        let file = try open(source)
        let before = try examine(file, source)
        try Self.check(before, is: expected, source)
        try known?.check(before, source)
        guard before.isFile else { throw Failure(.wrongForm, "\(source) is not a file, so it cannot be hard-linked.") }
        let parent = try directories.open(path.parent)
        if let status = try status(of: path, in: parent) {
            if status.isSame(as: before) {
                guard before.st_nlink > 1 else {
                    throw Failure(
                        .pathConflict,
                        "\(path) and \(source) are one name to the server's file system, or one is a mount of the other. "
                            + "Choose another name.")
                }
                directories.change(parent)
                return Moved(version: (ContentVersion(before), ContentVersion(before)))
            }
            try checkReplaceable(path, status, replaces)
        }
        try put(path, in: parent, replaces: replaces, compared) { (directory, name) throws(SystemError) in
            let flags = AT_SYMLINK_FOLLOW
            try directory.disk.link(
                file.number, "/proc/self/fd/\(file.number)", flags: flags, to: (directory.number, name))
        }
        let version = ContentVersion(try examine(file, source))
        if replaces { incoming.commands.withLock { $0.add(version, of: command, at: path) } }
        return Moved(version: (ContentVersion(before), version))
    }

    /// Creates an entry at its path, or in a scratch directory if it replaces another one.
    private func put(
        _ path: RelativePath, in parent: DirectoryHandle, replaces: Bool, _ compared: ComparedFile?,
        _ make: (DirectoryHandle, String) throws(SystemError) -> Void
    ) throws(Failure) {
        let name = String(path.name)
        let isTaken = try attempt("make \(path)") { () throws(SystemError) in
            do throws(SystemError) {
                try incoming.freeNames.create { () throws(SystemError) in try make(parent, name) }
                return false
            } catch {
                guard error.isExisting else { throw error }
                return true
            }
        }
        directories.change(parent)
        guard isTaken else { return }
        guard replaces else { throw .taken(path) }
        let scratch = try scratch()
        // The name contains a random id, so no upload has it.
        let other = StagedFile.scratchName()
        try attempt("create the replacement of \(path)") { () throws(SystemError) in try make(scratch, other) }
        // After a successful rename the scratch name is gone, unless both were names of one file: rename(2) leaves
        // both.
        defer { try? scratch.unlink(other) }
        try incoming.replacing.withLock { _ throws(Failure) in
            let found = try status(of: path, in: parent)
            try compared?.check(found, path)
            if found?.isDirectory == true { throw .taken(path) }
            if let found { try incoming.check(found, command, path, in: tree) }
            try keeping(found, at: path, in: parent) { () throws(Failure) in
                try attempt("replace \(path)") { () throws(SystemError) in
                    try disk.rename(scratch.number, other, to: (parent.number, name))
                }
            }
        }
    }

    /// Replaces an entry. If it is to be kept, it was linked into the trash before.
    ///
    /// - Parameter found: the entry at the path; nil if the path is free.
    /// - Throws: `busy` if the entry is not the one that was linked into the trash.
    func keeping(
        _ found: stat?, at path: RelativePath, in parent: DirectoryHandle, _ replace: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let found else { return try replace() }
        let isMoved = try places?.replace(found, at: path, in: parent, since: failures, replace)
        if isMoved == nil { try replace() }
        // A file without another name is gone now, unless it was moved to the trash, where it still counts.
        guard isMoved != true, found.isFile, found.st_nlink < 2 else { return }
        space?.quota?.removed(ContentVersion(found).size)
    }

    func checkReplaceable(_ path: RelativePath, _ status: stat, _ replaces: Bool) throws(Failure) {
        guard replaces, !status.isDirectory else { throw .taken(path) }
    }
}

// MARK: Attributes

extension TreeEditor {
    /// Sets the attributes of a file, folder or link.
    ///
    /// - Parameters:
    ///   - form: the form that it must have; nil for any.
    ///   - expected: the object that has to be there; nil for any.
    ///   - compared: the content that the file must still have; nil for any.
    /// - Returns: the versions of a file before and after.
    /// - Throws: `sourceChanged` if the form or content is not the compared one.
    package func set(
        _ path: RelativePath, permissions: UInt16?, modified: Timestamp?, _ extra: ExtraAttributes?,
        of form: FoundObject.Form? = nil, expecting expected: ContentVersion? = nil, as compared: ComparedFile? = nil
    ) throws(Failure) -> Moved {
        let parent = try existing(path.parent, path)
        guard let status = try status(of: path, in: parent), let found = FoundObject(status) else {
            throw .notFound(path)
        }
        if let form, found.form != form { throw .changed(path) }
        if status.isLink {
            try compared?.check(status, path)
            try setLink(path, in: parent, modified, extra)
            return Moved(version: nil)
        }
        // A file that its owner may not read cannot be opened. If the change fails, the owner keeps the permission to
        // read.
        let lent = try attempt("open \(path), which is closed to its owner") { () throws(SystemError) in
            try disk.lendReading(parent.number, String(path.name), status)
        }
        let file = try open(path)
        let opened = try examine(file, path)
        try Self.check(opened, is: expected, path)
        // Lending the permission has changed the version.
        try compared?.check(lent == nil ? opened : status, path)
        let wanted = permissions.map { mode_t(rights.added(to: $0, isFolder: status.isDirectory)) }
        try attempt("set the attributes of \(path)") { () throws(SystemError) in
            try disk.set(file.number, permissions: wanted ?? lent, modified: modified, extra)
        }
        let after = try examine(file, path)
        changed.append(OpenFile(file))
        return Moved(version: status.isFile ? (ContentVersion(status), ContentVersion(after)) : nil)
    }

    private func setLink(
        _ path: RelativePath, in parent: DirectoryHandle, _ modified: Timestamp?, _ extra: ExtraAttributes?
    ) throws(Failure) {
        let name = String(path.name)
        try attempt("set the attributes of \(path)") { () throws(SystemError) in
            if let owner = extra?.owner, disk.isRoot { try disk.setLinkOwner(parent.number, name, owner) }
            if let modified { try disk.setLinkTime(parent.number, name, modified) }
            try disk.renewTimes(parent.number)
        }
        directories.change(parent)
    }
}

// MARK: Looking

extension TreeEditor {
    func existing(_ folder: RelativePath?, _ path: RelativePath) throws(Failure) -> DirectoryHandle {
        do throws(SystemError) {
            return folder == nil ? try tree.root.openDirectory(".") : try tree.open(folder)
        } catch {
            throw Failure(error, reading: path)
        }
    }

    /// Marks an existing folder, so that `commit` syncs the names in it with the rest.
    ///
    /// - Parameter folder: nil for the top.
    func confirmNames(in folder: RelativePath?) throws(Failure) {
        do throws(SystemError) {
            directories.change(folder == nil ? try tree.root.openDirectory(".") : try tree.open(folder))
        } catch {
            guard [ENOENT, ENOTDIR, ELOOP].contains(error.errno) else { throw Failure(error, reading: folder) }
        }
    }

    func status(of path: RelativePath, in parent: DirectoryHandle) throws(Failure) -> stat? {
        do throws(SystemError) {
            if path.parent == nil { try tree.check(path) }
            return try parent.status(String(path.name))
        } catch {
            throw Failure(error, reading: path)
        }
    }

    static func check(_ found: stat, is expected: ContentVersion?, _ path: RelativePath) throws(Failure) {
        guard let expected, ContentVersion(found).object != expected.object else { return }
        throw .isReplaced(path)
    }

    func open(_ path: RelativePath) throws(Failure) -> Descriptor {
        let parent = try existing(path.parent, path)
        do throws(SystemError) {
            return try parent.openFile(String(path.name), flags: O_RDONLY | O_NONBLOCK)
        } catch {
            throw Failure(error, reading: path)
        }
    }

    private func examine(_ file: borrowing Descriptor, _ path: RelativePath) throws(Failure) -> stat {
        let number = file.number
        return try attempt("look at \(path)") { () throws(SystemError) in try disk.status(number) }
    }
}

extension stat {
    var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    /// Whether it is the same file or folder, under any name.
    func isSame(as other: stat) -> Bool { st_dev == other.st_dev && st_ino == other.st_ino }

    /// Whether the object has one name only. If it is found under another name as well, the file system treats both
    /// names as one, or the object is mounted there.
    var hasOneName: Bool { isDirectory || st_nlink < 2 }
}

extension FoundObject {
    /// - Returns: nil for anything other than a file, folder or link.
    init?(_ status: stat) {
        guard status.isFile || status.isDirectory || status.isLink else { return nil }
        self.init(status.isFile ? .file : status.isDirectory ? .folder : .link, ContentVersion(status))
    }
}
