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

    /// Nothing without limits.
    let space: Space?

    /// What acknowledgements of uploads to this store promise.
    package let durability: Durability

    /// Everything that a file system can.
    package let abilities = StoreAbilities()
    package var parts: (any PartStore)? { self }
    package var appends: (any AppendStore)? { self }
    package var rereads: (any RereadStore)? { self }

    /// Which directory of this machine it is; nil where that cannot be said.
    package let identity: [UInt8]?

    /// Whether no server has stored in the directory before.
    package let isNew: Bool

    /// The server's own folder.
    private let own: DirectoryHandle

    /// Held for as long as the store is open, so that no second server works on the same directory.
    private let lock: DirectoryLock

    /// Permission bits that files lose, as the process was started with.
    let umask: mode_t

    /// What this server leaves its own user of what it stores.
    let rights: OwnerRights

    /// Opens the directory, making it and the server's folder where missing.
    ///
    /// - Parameters:
    ///   - path: of this machine; its parent must exist.
    ///   - limits: with a quota, every file in the directory is looked at first.
    ///   - lock: a descriptor of the directory's lock that another process has taken for this one; it becomes the store's.
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
    ///   - fileSystem: what the directory is taken to be on; nothing to find out.
    ///   - disk: what all calls go through.
    ///   - clock: nanoseconds of a clock that nobody sets: what is stored is counted anew by it, where it seems to be too much.
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
            // Before anything that says what the last server left behind.
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

    /// Opens the directory and the server's folder in it, and makes both where they are missing.
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

    /// Whether a sync has failed since the machine was started, or was in flight when a server ended: nothing that is
    /// found is taken for stored until it is started again.
    package var isInDoubt: Bool { incoming.committer.isInDoubt }

    /// How long waiting for the disk takes, where there is anything to wait for.
    package var syncDurations: DurationHistogram? { incoming.committer.durations }

    /// The descriptor of the directory, for as long as the store is there.
    package var directory: Int32 { tree.root.number }

    /// The descriptor of the server's own folder in it, for as long as the store is there.
    package var ownFolder: Int32 { own.number }

    /// Lets another server store in the directory. Nothing may be staged or published any more.
    package func unlock() { lock.release() }

    /// Whether no other server has taken the directory's lock since.
    ///
    /// - Throws: where that cannot be said now.
    package func isHeld() throws(SystemError) -> Bool { try lock.isHeld() }

    /// The folder is synced also where it was there before: whoever made it may have been killed, and with it would go
    /// the keys in it. One that was made and could not be synced goes again, or the next start would take it for durable.
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

    /// umask(2) can only read it by changing it, which other threads would notice; /proc/self/status just tells.
    static func readUmask() throws(SystemError) -> mode_t {
        let file = Descriptor(
            try system("open") { clinux_openat(AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0) })
        let number = file.number
        // "Umask" is the second line, long before that.
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
            throw Failure(.pathConflict, "\(path) is taken by \(isDirectory ? "a directory" : "other content").")
        }
    }

    /// The file that has the path, without a look at its content.
    ///
    /// - Returns: nothing when there is none, or something that is no file.
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

    /// The same for many paths at once, in their order. Those of one folder should stand together: it is opened once then.
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
    /// - Returns: nothing where that cannot be said, as in memory without a limit (tmpfs(5), size).
    package var room: StoreRoom? {
        guard let status = try? incoming.directory.disk.room(incoming.directory.number), status.f_blocks > 0 else {
            return nil
        }
        let size = UInt64(status.f_frsize)
        let (free, isFreeTooMuch) = UInt64(status.f_bavail).multipliedReportingOverflow(by: size)
        let (total, isTotalTooMuch) = UInt64(status.f_blocks).multipliedReportingOverflow(by: size)
        return isFreeTooMuch || isTotalTooMuch ? nil : StoreRoom(free: free, total: total)
    }

    /// Whether the file system is mounted so that nothing can be written.
    package var isReadOnly: Bool {
        let status = try? incoming.directory.disk.room(incoming.directory.number)
        return status.map { $0.f_flag & UInt(ST_RDONLY) != 0 } ?? false
    }

    /// Holds to other limits from now on, as far as that can change: not whether there is a quota, and nothing where there
    /// were no limits.
    ///
    /// - Returns: those that hold now.
    package func change(_ limits: SpaceLimits) -> SpaceLimits { space?.change(limits) ?? SpaceLimits() }

    /// Whether as much of the disk is free as has to stay free, before something is written that is no content.
    ///
    /// - Throws: `insufficientStorage`.
    package func checkRoom() throws(Failure) { try space?.check() }

    /// Bytes that count against the quota, and the quota; nothing without one.
    package var quota: (used: UInt64, limit: UInt64)? { space?.quota.map { ($0.used, $0.currentLimit) } }
}

/// Content that is for somebody has a folder in the server's own, where no client's path leads.
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
