internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
package import TransferSystem

/// Where accepted bytes live: a directory of plain files, with the server's own folder `.transfer` at its top.
/// Synchronous and safe to call from any thread; called on the blocking pool.
package final class FileStore: ServerStore, PartStore, AppendStore, RereadStore {
    let tree: DirectoryTree
    let incoming: Incoming

    /// Nil if no limits were configured.
    let space: Space?

    /// Whether acknowledged uploads have been synced.
    package let durability: Durability

    /// The default abilities: a directory supports all of them.
    package let abilities = StoreAbilities()
    package var parts: (any PartStore)? { self }
    package var appends: (any AppendStore)? { self }
    package var rereads: (any RereadStore)? { self }

    /// Device and inode of the directory; nil if they cannot be read.
    package let identity: [UInt8]?

    /// Whether this is the first server that stores in the directory.
    package let isNew: Bool

    /// The server's own folder, `.transfer`.
    private let own: DirectoryHandle

    /// Held for as long as the store is open, so that no second server works on the same directory.
    private let lock: DirectoryLock

    /// Permission bits that new files lose: the umask with which the process was started.
    let umask: mode_t

    /// Permissions that the server's own user keeps on everything that it stores.
    let rights: OwnerRights

    /// Opens the directory, making it and the server's folder where missing.
    ///
    /// - Parameters:
    ///   - path: a path on this machine; its parent must exist.
    ///   - limits: with a quota, opening reads the size of every file in the directory.
    ///   - lock: a descriptor of the directory's lock that another process has taken for this one; the store closes
    ///     it.
    ///   - usesOpenat2: false resolves paths as on kernels before 5.6; for tests.
    /// - Throws: `storageFailed` and others, with a sentence that says what to do.
    package convenience init(
        path: String, durability: Durability = .commit, limits: SpaceLimits = SpaceLimits(), lock: Int32? = nil,
        usesOpenat2: Bool = true
    ) throws(Failure) {
        try self.init(
            path: path, durability: durability, limits: limits, lock: lock, usesOpenat2: usesOpenat2, fileSystem: nil,
            disk: Disk())
    }

    /// - Parameters:
    ///   - fileSystem: the file system to assume; nil to examine the directory.
    ///   - disk: makes all system calls of the store.
    ///   - clock: monotonic time in nanoseconds. When the quota seems to be exceeded, it decides whether the stored
    ///     files are counted again.
    package init(
        path: String, durability: Durability, limits: SpaceLimits = SpaceLimits(), lock descriptor: Int32? = nil,
        usesOpenat2: Bool = true, fileSystem: FileSystem?, disk: Disk,
        clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) throws(Failure) {
        self.durability = durability
        rights = .serving(isRoot: disk.isRoot)
        let syncs = durability == .commit
        let (root, own) = try Self.openFolders(path, on: disk, syncs: syncs)
        self.own = own
        identity = DirectoryIdentity.of(root.number)
        if let reason = OwnFolder.distrust(of: own) { throw Self.cannotStore(in: path, reason) }
        let isTaken: Bool
        do throws(SystemError) {
            isNew = try own.status(DirectoryLock.name) == nil
            lock = try DirectoryLock(in: own, inherited: descriptor)
            tree = DirectoryTree(root: root, own: try OwnFolder(own), usesOpenat2: usesOpenat2)
            // Take the lock before reading anything that the last server has left.
            isTaken = try lock.take()
        } catch {
            throw Self.cannotStore(in: path, error.reason)
        }
        guard isTaken else {
            let holder = lock.holder.map { ": \($0)" } ?? ""
            throw Failure(.busy, "Another server is already storing in '\(path.escapedForDisplay)'\(holder).")
        }
        let isShared = descriptor != nil
        do throws(SystemError) {
            let directory = try Self.openOrMake("incoming", in: own, syncs: syncs)
            incoming = try Incoming(
                directory, durability, doubtsIn: .own(own), fileSystem: fileSystem, lock: isShared ? lock : nil)
            umask = try Self.readUmask()
            let isLimited = limits != SpaceLimits()
            space =
                isLimited
                ? Space(limits, tree: tree, incoming: incoming.directory, room: incoming.room, clock: clock) : nil
            try incoming.countParts()
            _ = try StagedFile.anonymous(id: .random(), permissions: 0o600, in: incoming)
        } catch {
            throw Self.cannotStore(in: path, error.reason)
        }
    }

    /// Opens the directory and the server's folder in it, creating both if they are missing.
    static func openFolders(
        _ path: String, on disk: Disk, syncs: Bool
    ) throws(Failure) -> (root: DirectoryHandle, own: DirectoryHandle) {
        do throws(SystemError) {
            let root = try DirectoryHandle.openOrMake(path: path, on: disk, syncs: syncs)
            return (root, try openOrMake(RelativePath.reservedName, in: root, syncs: syncs))
        } catch {
            throw cannotStore(in: path, error.reason)
        }
    }

    static func cannotStore(in path: String, _ reason: String) -> Failure {
        Failure(.storageFailed, "Cannot store in '\(path.escapedForDisplay)': \(reason).")
    }

    /// Whether a sync has failed since the machine was started, or was in flight when a server ended. Then no file that
    /// is found counts as stored until the machine is restarted.
    package var isInDoubt: Bool { incoming.committer.isInDoubt }

    /// Durations of syncs; nil if nothing is synced.
    package var syncDurations: DurationHistogram? { incoming.committer.durations }

    /// The descriptor of the directory, valid while the store is open.
    package var directory: Int32 { tree.root.number }

    /// The descriptor of `.transfer` in the directory, valid while the store is open.
    package var ownFolder: Int32 { own.number }

    /// Releases the directory's lock, so that another server may store in it. Nothing may be staged or published after
    /// this.
    package func unlock() { lock.release() }

    /// Whether this server still has the directory's lock.
    ///
    /// - Throws: if the lock cannot be examined now.
    package func isHeld() throws(SystemError) -> Bool { try lock.isHeld() }

    /// The parent is synced even if the folder exists: the process that created it may have been killed before its
    /// sync, and a crash would lose the folder with the keys in it. A folder that was created and could not be synced
    /// is removed again, so that the next start does not treat it as durable.
    private static func openOrMake(
        _ name: String, in parent: DirectoryHandle, syncs: Bool
    ) throws(SystemError) -> DirectoryHandle {
        let isNew = try parent.makeDirectoryIfMissing(name, mode: 0o700)
        let directory = try parent.openDirectory(name)
        guard syncs else { return directory }
        do throws(SystemError) {
            try parent.sync()
        } catch {
            if isNew { try? parent.disk.removeDirectory(parent.number, name) }
            throw error
        }
        return directory
    }

    /// umask(2) returns the mask only by changing it, which would affect other threads, so this reads
    /// /proc/self/status.
    static func readUmask() throws(SystemError) -> mode_t {
        let file = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0) })
        let number = file.number
        // "Umask" is on the second line, well within the buffer.
        let status = try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 512) { buffer throws(SystemError) in
            let count = try system("read") { read(number, buffer.baseAddress, buffer.count) }
            return String(decoding: buffer[..<count], as: UTF8.self)
        }
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        guard let mask = line.flatMap({ mode_t($0.dropFirst(6).filter { !$0.isWhitespace }, radix: 8) }) else {
            throw SystemError(errno: ENOTSUP, call: "umask")
        }
        return mask
    }
}

extension FileStore {
    package func admit(
        _ path: RelativePath, size: UInt64?, conflict: ConflictPolicy
    ) throws(Failure) -> PublicationOutcome? {
        let status = try attempt("look at \(path)") { () throws(SystemError) -> stat? in
            do throws(SystemError) {
                return try tree.open(path.parent).status(String(path.name))
            } catch {
                guard error.errno == ENOENT else { throw error }
                return nil
            }
        }
        guard let status else { return nil }
        switch conflict {
        case .skip: return .skipped
        case .keepBoth: return nil
        case .overwrite, .fail:
            let isDirectory = status.st_mode & S_IFMT == S_IFDIR
            let mayBeSame = !isDirectory && size.map { UInt64(clamping: status.st_size) == $0 } ?? true
            guard isDirectory || (conflict == .fail && !mayBeSame) else { return nil }
            throw Failure(
                .pathConflict, "\(path) exists already, \(isDirectory ? "as a directory" : "with other content").")
        }
    }

    /// The version of the file at a path. The content is not read.
    ///
    /// - Returns: nil if the path does not exist or is not a regular file.
    package func version(at path: RelativePath) -> ContentVersion? {
        guard let status = try? tree.open(path.parent).status(String(path.name)), status.st_mode & S_IFMT == S_IFREG
        else { return nil }
        return ContentVersion(status)
    }

    package func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool {
        version.hasSameContent(as: before) && incoming.keeps.withLock { $0.contains(before) }
    }

    package func exists(_ path: RelativePath) -> Bool {
        guard let status = try? tree.open(path.parent).status(String(path.name)) else { return false }
        return status.isFile || status.isDirectory || status.isLink
    }

    package func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        var (missing, next): ([RelativePath], RelativePath?) = ([], folder)
        while let folder = next, folder != top, (try? tree.open(folder)) == nil {
            missing.append(folder)
            next = folder.parent
        }
        return missing
    }

    /// The versions of many files, in the order of the paths. Adjacent paths in one folder open it once.
    package func versions(at paths: [RelativePath]) -> [ContentVersion?] {
        let reader = DirectoryReader(tree)
        return paths.map { path in reader.attributes(at: path).flatMap { $0.isDirectory ? nil : $0.version } }
    }

    package func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        let directory = try? tree.open(folder)
        return names.map { name in
            guard let status = try? directory?.status(name), status.isFile else { return nil }
            return ContentVersion(status)
        }
    }
}

extension FileStore {
    /// - Returns: nil if the file system does not report its size, as a tmpfs without a limit (tmpfs(5), size).
    package var room: StoreRoom? {
        guard let status = try? incoming.directory.disk.room(incoming.directory.number), status.f_blocks > 0 else {
            return nil
        }
        let size = UInt64(status.f_frsize)
        let (free, isFreeTooMuch) = UInt64(status.f_bavail).multipliedReportingOverflow(by: size)
        let (total, isTotalTooMuch) = UInt64(status.f_blocks).multipliedReportingOverflow(by: size)
        return isFreeTooMuch || isTotalTooMuch ? nil : StoreRoom(free: free, total: total)
    }

    /// Whether the file system is mounted read-only.
    package var isReadOnly: Bool {
        let status = try? incoming.directory.disk.room(incoming.directory.number)
        return status.map { $0.f_flag & UInt(ST_RDONLY) != 0 } ?? false
    }

    /// Applies new limits. A quota can be changed, but not added or removed, and a store that was opened without limits
    /// keeps none.
    ///
    /// - Returns: the limits in effect.
    package func change(_ limits: SpaceLimits) -> SpaceLimits { space?.change(limits) ?? SpaceLimits() }

    /// Checks the minimum of free space before anything other than content is written.
    ///
    /// - Throws: `insufficientStorage` if less is free.
    package func checkRoom() throws(Failure) { try space?.check() }

    /// Bytes that count against the quota, and the quota; nil without a quota.
    package var quota: (used: UInt64, limit: UInt64)? { space?.quota.map { ($0.used, $0.currentLimit) } }
}

/// Mail is kept in a folder inside the server's own one, which no client's path reaches.
extension FileStore {
    package func removeMail(_ paths: [RelativePath]) {
        guard let folder = try? tree.open(.mailFolder) else { return }
        for path in paths where RelativePath(mail: path.string) != nil {
            let name = String(path.name)
            guard let status = try? folder.status(name), status.isFile, (try? folder.unlink(name)) != nil else {
                continue
            }
            space?.quota?.removed(ContentVersion(status).size)
        }
    }

    package func mailFiles() -> [RelativePath] {
        guard let directory = try? tree.open(.mailFolder), let stream = try? DirectoryStream(directory) else {
            return []
        }
        var files: [RelativePath] = []
        while let name = try? stream.next() {
            let text = RelativePath.mailFolder.string + "/" + String(decoding: name, as: UTF8.self)
            if let path = RelativePath(mail: text) { files.append(path) }
        }
        return files
    }
}

extension Publication {
    /// The content as the directory store's type.
    var staged: StagedFile {
        // Trap: content is published by the store that has staged it.
        guard let file = content as? StagedFile else { preconditionFailure("content of another store") }
        return file
    }
}

extension FileStore {
    /// A file for the bytes of one upload, which is removed with its last reference.
    ///
    /// - Parameters:
    ///   - size: the declared size, nil if unknown; for more than one block, space is reserved.
    ///   - filled: bytes that are not in holes, as the client has declared; nil for content without holes. With
    ///     holes, no room is reserved.
    ///   - quota: the client's quota; nil if it has none.
    package func stage(
        id: UploadID, size: UInt64?, filled: UInt64? = nil, permissions: UInt16?, quota: Quota? = nil
    ) throws(Failure) -> StagedFile {
        let staged = try attempt("create a file for the upload") { () throws(SystemError) in
            try StagedFile.anonymous(id: id, permissions: Self.mode(permissions), in: incoming)
        }
        staged.hold = SpaceHold(space, client: quota)
        if let size { try staged.hold?.grow(to: size) }
        if let size, size > UInt64(Limits.blockSize) { try reserve(size, filled, for: staged) }
        return staged
    }

    /// Reserves room on the disk, if the file system supports it and the content has no holes.
    func reserve(_ size: UInt64, _ filled: UInt64? = nil, for staged: StagedFile) throws(Failure) {
        guard let space else { return try staged.reserve(size, filled: filled) }
        let wanted = min(size, filled ?? size)
        try space.reserve(wanted - min(wanted, try staged.present)) { () throws(Failure) in
            try staged.reserve(size, filled: filled)
        }
    }

    /// The mode of a new file: the client's, or 0666 if it sent none.
    static func mode(_ permissions: UInt16?) -> mode_t { mode_t(permissions ?? 0o666) & 0o777 }
}
