import Glibc
import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// The directory of unpublished uploads, with its file system, committer and the state that publications share.
final class Incoming: Sendable {
    let directory: DirectoryHandle
    let fileSystem: FileSystem
    let committer: Committer

    /// Syncs that several append uploads share.
    let appendSyncs: SharedSync

    /// Held while a published file is replaced, so that the file that was checked is the one that is replaced. Also
    /// remembers which connection replaced each file last.
    let replacing = Locked(Overwrites())

    let freeNames = FreeNames()

    /// Frees room on the disk when it is full.
    let room: RoomMaker

    /// Files that are about to be replaced and have a name in the trash.
    let keeps = Locked(KeepsUnderWay())

    /// The files that running commands have stored.
    let commands = Locked(CommandFiles())

    /// Files that were created for uploads and not used.
    let spares = Locked(SpareFiles())

    /// The number of parts in the directory that can be resumed.
    let parts = Atomic(0)

    /// Whether the kernel lets this process link a file by its descriptor; true until it refuses.
    let linksByDescriptor = Atomic(true)

    /// - Throws: `pathConflict` if the same command has stored the file that it would replace.
    func check(
        _ there: stat, _ command: StoringCommand?, _ path: RelativePath, in tree: DirectoryTree
    ) throws(Failure) {
        guard command != nil, there.isFile else { return }
        let other = try commands.withLock { (files) throws(Failure) in
            try files.check(ContentVersion(there), hasOtherNames: !there.hasOneName, command, path)
        }
        guard let other else { return }
        let found = try? tree.open(other.parent).status(String(other.name))
        guard found?.isSame(as: there) == true else { throw .ownFile(path) }
    }

    /// - Parameters:
    ///   - folder: where the server keeps which directories may not be durable, so that a later process knows it.
    ///   - fileSystem: the directory's file system; nil to examine it.
    ///   - lock: the lock that must be held for anything to count as durable; nil if no other machine can take it.
    init(
        _ directory: DirectoryHandle, _ durability: Durability, doubtsIn folder: DoubtFolder,
        fileSystem: FileSystem? = nil, lock: DirectoryLock? = nil
    ) throws(SystemError) {
        let fileSystem = if let fileSystem { fileSystem } else { try FileSystem(of: directory) }
        self.directory = directory
        self.fileSystem = fileSystem
        room = RoomMaker()
        committer = try Committer(durability, of: directory, on: fileSystem, doubtsIn: folder, lock: lock)
        appendSyncs = SharedSync(committer)
    }

    /// Another directory on the same file system.
    init(_ directory: DirectoryHandle, beside other: Incoming) {
        self.directory = directory
        (fileSystem, room) = (other.fileSystem, other.room)
        (committer, appendSyncs) = (other.committer, other.appendSyncs)
    }

    /// Renames an entry to a free name. Fails with EEXIST if the name is taken, also on file systems that cannot check that in the same
    /// call (rename(2), EINVAL), such as NFS.
    func move(
        _ name: String, in parent: DirectoryHandle, toFree newName: String, in target: DirectoryHandle
    ) throws(SystemError) {
        let disk = parent.disk
        do throws(SystemError) {
            return try disk.renameToFreeName(parent.number, name, to: (target.number, newName))
        } catch {
            guard [EINVAL, ENOSYS].contains(error.errno) else { throw error }
        }
        try freeNames.takeAlone { () throws(SystemError) in
            guard try target.status(newName) == nil else { throw SystemError(errno: EEXIST, call: "renameat") }
            try disk.rename(parent.number, name, to: (target.number, newName))
        }
    }

    /// Counts the parts of earlier servers. Call it before the first upload.
    func countParts() throws(SystemError) {
        parts.store(try directory.names().count { StagedFile.upload(ofPart: $0) != nil }, ordering: .relaxed)
    }
}

/// A file of the directory, open for reading and writing.
final class OpenFile: Sendable {
    let descriptor: Descriptor

    /// The mode that it was created with, before the umask.
    let permissions: mode_t

    init(_ descriptor: consuming Descriptor, permissions: mode_t) {
        self.descriptor = descriptor
        self.permissions = permissions
    }
}

/// Empty files without a name that their uploads did not need, because the content was stored already. Later uploads
/// use them: ext4 without a journal searches up to a millisecond for a free inode, and all other threads that create
/// files wait for it.
struct SpareFiles {
    private var files: [OpenFile] = []

    /// The most spare files: as many as the threads of the pool can need at once.
    private static let most = 8

    /// - Parameter permissions: the mode with which the file must have been created.
    mutating func take(_ permissions: mode_t) -> OpenFile? {
        files.lastIndex { $0.permissions == permissions }.map { files.remove(at: $0) }
    }

    /// Adds a file, in place of the oldest one if there are many.
    mutating func put(_ file: OpenFile) {
        if files.count >= Self.most { files.removeFirst() }
        files.append(file)
    }
}

/// Keeps uploads and links from taking a name between a look at it and the rename(2) that gives it to a moved entry and would replace
/// them. Other programs can still take it there.
///
/// `@unchecked Sendable`: the lock is made for threads, and its pointer never changes.
final class FreeNames: @unchecked Sendable {
    /// Shared by all calls that create a name and fail if it is taken. Writers come first, so that a stream of uploads keeps no move
    /// waiting; therefore no call may be made inside another one.
    private let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)

    init() {
        var attributes = pthread_rwlockattr_t()
        pthread_rwlockattr_init(&attributes)
        pthread_rwlockattr_setkind_np(&attributes, Int32(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP))
        pthread_rwlock_init(lock, &attributes)
        pthread_rwlockattr_destroy(&attributes)
    }

    deinit {
        pthread_rwlock_destroy(lock)
        lock.deallocate()
    }

    /// Runs a call that creates a name, and fails if the name is taken.
    func create<Value>(_ body: () throws(SystemError) -> Value) throws(SystemError) -> Value {
        pthread_rwlock_rdlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        return try body()
    }

    /// Looks at a name and takes it, while no `create` runs.
    func takeAlone(_ body: () throws(SystemError) -> Void) throws(SystemError) {
        pthread_rwlock_wrlock(lock)
        defer { pthread_rwlock_unlock(lock) }
        try body()
    }
}
