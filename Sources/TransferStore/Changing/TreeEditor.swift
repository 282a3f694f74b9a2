internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Makes folders and links, gives what is there other names and attributes. Nothing is durable before `commit`. Belongs to one
/// task at a time.
///
/// Every change of a name is one call that the file system makes as a whole: whoever looks sees what was before, or what is
/// after. Replacing is rename(2) of what was made under another name first.
package final class TreeEditor {
    /// A file or folder that has another path now.
    package struct Moved: Sendable {
        /// Of a file, as it was and as it is; nothing for a folder.
        package let version: (before: ContentVersion, after: ContentVersion)?
    }

    /// From where to where something is moved.
    package typealias Renaming = (path: RelativePath, target: RelativePath)

    let tree: DirectoryTree
    let incoming: Incoming
    /// Those that files and folders keep in any case.
    private let rights: OwnerRights
    private let space: Space?
    let command: StoringCommand?
    /// Where what gives way is kept; nil where it is gone for good.
    private let places: KeptPlaces?
    let directories: BatchDirectories
    /// Where what replaces something is made first.
    private let scratch: () throws(Failure) -> DirectoryHandle
    /// Files and folders whose attributes were changed.
    private var changed: [OpenFile] = []
    let failures: Int
    /// Folders of the trash that something was taken out of, and that may be empty now.
    var emptied: Set<RelativePath> = []
    /// Whether folders that are open may have other paths by now.
    var hasMovedFolder = false

    /// A descriptor in an array.
    private final class OpenFile {
        let descriptor: Descriptor
        init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
    }

    /// Descriptors that may be open at once: a batch may name thousands of folders.
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

    /// Whether `commit` has to be called before anything else is changed.
    package var isFull: Bool {
        hasMovedFolder || directories.hasFailed || directories.count + changed.count >= Self.mostOpened
    }

    /// Makes all of it durable. What comes next is another editor's.
    package func commit() throws(Failure) {
        defer {
            directories.close()
            changed = []
        }
        let numbers = changed.map { $0.descriptor.number }
        let made = directories.made
        for case let error? in incoming.committer.commit(numbers, since: failures, making: made) {
            throw Failure(error, doing: "make the change durable")
        }
        try places?.settle(since: failures)
        try directories.commit(since: failures)
        // What is left of a part of the trash when all is back: nobody needs to know whether these are gone for good.
        for folder in emptied { tree.removeEmptyTrash(folder, incoming.committer.directories) }
        emptied = []
    }
}

// MARK: Making

extension TreeEditor {
    /// Makes a folder, with those above it, unless it is there.
    ///
    /// - Parameters:
    ///   - replaces: whether a file or link gives way to it.
    ///   - compared: what gives way, as it has to be still; nothing for anything.
    ///   - permissions: those that it is going to have: until then it has no more of them, and all of its owner's. Nothing for those
    ///     of any new folder, which those above it get.
    /// - Throws: `pathConflict` where something else has the name; `sourceChanged` for something else than was compared.
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

    /// Makes a folder in place of what is no folder: it is made under another name first, and both change their names in one step. So
    /// what has the name gives way to nothing that could not be made.
    ///
    /// - Returns: false if a folder has the name by now.
    private func replaceByFolder(
        _ path: RelativePath, in parent: DirectoryHandle, _ mode: mode_t, _ compared: ComparedFile?
    ) throws(Failure) -> Bool {
        let (scratch, other) = (try scratch(), StagedFile.scratchName())
        try attempt("make the folder \(path)") { () throws(SystemError) in
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
                    try attempt("make the folder \(path)") { () throws(SystemError) in
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

    /// Gives a new folder the name of what is no folder, and removes that.
    private func exchange(
        _ new: (directory: DirectoryHandle, name: String), with old: (directory: DirectoryHandle, name: String),
        _ mode: mode_t
    ) throws(SystemError) {
        do throws(SystemError) {
            try disk.exchange(new.directory.number, new.name, with: (old.directory.number, old.name))
            try? new.directory.unlink(new.name)
        } catch {
            // The file system cannot, the folder is on another mount than the scratch one, or what had the name is in the trash, where
            // that takes a move.
            guard [EINVAL, ENOSYS, ENOTSUP, EXDEV, ENOENT].contains(error.errno) else { throw error }
            try? disk.removeDirectory(new.directory.number, new.name)
            try makeDirectoryInPlace(of: old.name, in: old.directory, mode)
        }
    }

    /// The same in two steps. What has the name gets it back if the folder cannot be made.
    private func makeDirectoryInPlace(
        of name: String, in parent: DirectoryHandle, _ mode: mode_t
    ) throws(SystemError) {
        guard try parent.status(name) != nil else { return try parent.makeDirectory(name, mode: mode) }
        let aside = StagedFile.scratchName()
        try disk.rename(parent.number, name, to: (parent.number, aside))
        do throws(SystemError) {
            try parent.makeDirectory(name, mode: mode)
        } catch {
            try? disk.renameToFreeName(parent.number, aside, to: (parent.number, name))
            throw error
        }
        try parent.unlink(aside)
    }

    /// Makes a symbolic link that says that, and is never followed here.
    ///
    /// - Parameter compared: what gives way to it, as it has to be still; nothing for anything.
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

    /// Gives a file another name.
    ///
    /// - Parameters:
    ///   - expected: what the source has to be; nothing for any file.
    ///   - compared: what gives way to it, as it has to be still; nothing for anything.
    ///   - known: the source, as it has to be still; nothing for any content.
    /// - Throws: `notFound`; `wrongForm` for what is no file; `busy` for another one than was expected; `sourceChanged` for something
    ///   else than was compared.
    package func makeHardLink(
        _ path: RelativePath, to source: RelativePath, replaces: Bool, expecting expected: ContentVersion? = nil,
        as compared: ComparedFile? = nil, sourceAs known: ComparedFile? = nil
    ) throws(Failure) -> Moved {
        let file = try open(source)
        let before = try examine(file, source)
        try Self.check(before, is: expected, source)
        try known?.check(before, source)
        guard before.isFile else { throw Failure(.wrongForm, "\(source) is no file, and cannot have two names.") }
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

    /// Gives what is made its name, at once or in place of what has it.
    private func put(
        _ path: RelativePath, in parent: DirectoryHandle, replaces: Bool, _ compared: ComparedFile?,
        _ make: (DirectoryHandle, String) throws(SystemError) -> Void
    ) throws(Failure) {
        let name = String(path.name)
        let isTaken = try attempt("make \(path)") { () throws(SystemError) in
            do throws(SystemError) {
                try make(parent, name)
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
        // No upload has such an id by chance.
        let other = StagedFile.scratchName()
        try attempt("make what replaces \(path)") { () throws(SystemError) in try make(scratch, other) }
        // After a successful rename nothing has the name, but where both were names of one file: rename(2) leaves both.
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

    /// Replaces what has its name in the trash, where it is to be kept.
    ///
    /// - Parameter found: the object at the path; nil where the path is free.
    /// - Throws: `busy` for another one than was kept.
    func keeping(
        _ found: stat?, at path: RelativePath, in parent: DirectoryHandle, _ replace: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let found else { return try replace() }
        let isMoved = try places?.replace(found, at: path, in: parent, since: failures, replace)
        if isMoved == nil { try replace() }
        // A file without another name is gone now, unless it was moved to the trash, where it counts.
        guard isMoved != true, found.isFile, found.st_nlink < 2 else { return }
        space?.quota?.removed(ContentVersion(found).size)
    }

    func checkReplaceable(_ path: RelativePath, _ status: stat, _ replaces: Bool) throws(Failure) {
        guard replaces, !status.isDirectory else { throw .taken(path) }
    }
}

// MARK: Attributes

extension TreeEditor {
    /// Makes a file, folder or link what is said of it.
    ///
    /// - Parameters:
    ///   - form: what it has to be; nothing for any of these.
    ///   - expected: what has to be there; nothing for anything.
    ///   - compared: the file as it has to be still; nothing for any content.
    /// - Returns: of a file, its version before and after.
    /// - Throws: `sourceChanged` for another form or content than was compared.
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
        // What its owner may not read cannot be opened. If the change fails, he keeps the right to.
        let lent = try attempt("open \(path), which is closed to its owner") { () throws(SystemError) in
            try disk.lendReading(parent.number, String(path.name), status)
        }
        let file = try open(path)
        let opened = try examine(file, path)
        try Self.check(opened, is: expected, path)
        // Lending has touched it.
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

    /// What is in a folder by now is synced with the rest; where there is no folder, nothing is.
    ///
    /// - Parameter folder: nothing for the top.
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

    /// Whether it is of the same file or folder, under whatever name.
    func isSame(as other: stat) -> Bool { st_dev == other.st_dev && st_ino == other.st_ino }

    /// Whether another name under which it is found is the same name to the file system, or a mount. Folders have one name each.
    var hasOneName: Bool { isDirectory || st_nlink < 2 }
}

extension FoundObject {
    /// - Returns: nothing for what is no file, folder or link.
    init?(_ status: stat) {
        guard status.isFile || status.isDirectory || status.isLink else { return nil }
        self.init(status.isFile ? .file : status.isDirectory ? .folder : .link, ContentVersion(status))
    }
}
