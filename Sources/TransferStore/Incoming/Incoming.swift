import Glibc
import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// Where uploads are until they are published: the directory, and what is known of the file system that it is on.
final class Incoming: Sendable {
    let directory: DirectoryHandle
    let fileSystem: FileSystem
    let committer: Committer

    /// Syncs of append uploads, which several share.
    let appendSyncs: SharedSync

    /// Held while a file that has a final name loses it to another, so that whoever looks at it first replaces what they
    /// saw. Knows who did that last.
    let replacing = Locked(Overwrites())

    /// Makes room where it is missing.
    let room: RoomMaker

    /// What is about to be replaced and is kept.
    let keeps = Locked(KeepsUnderWay())

    /// What commands have stored.
    let commands = Locked(CommandFiles())

    /// Files that were made for uploads and are not needed.
    let spares = Locked(SpareFiles())

    /// Parts of uploads that lie in the directory to be resumed.
    let parts = Atomic(0)

    /// Whether the kernel lets this process link a file by its descriptor; taken as true until it refuses.
    let linksByDescriptor = Atomic(true)

    /// - Throws: `pathConflict` where the same command has put what it would replace there.
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
    ///   - folder: where doubt is kept that outlives the process.
    ///   - fileSystem: what the directory is on, or nothing to find out.
    ///   - lock: without which nothing counts as durable; nil where no other machine can take it.
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

    /// Another directory on the file system of one.
    init(_ directory: DirectoryHandle, beside other: Incoming) {
        self.directory = directory
        (fileSystem, room) = (other.fileSystem, other.room)
        (committer, appendSyncs) = (other.committer, other.appendSyncs)
    }

    /// Counts the parts of earlier servers. Call it before the first upload.
    func countParts() throws(SystemError) {
        parts.store(try directory.names().count { StagedFile.upload(ofPart: $0) != nil }, ordering: .relaxed)
    }
}

/// A file of the directory, open for reading and writing.
final class OpenFile: Sendable {
    let descriptor: Descriptor

    /// That it was made with, before the umask took some away.
    let permissions: mode_t

    init(_ descriptor: consuming Descriptor, permissions: mode_t) {
        self.descriptor = descriptor
        self.permissions = permissions
    }
}

/// Empty files without a name that their uploads did not need, because the content was stored already. The next uploads take them: ext4
/// without a journal searches for a free inode for up to a millisecond, and all others who make files wait for it.
struct SpareFiles {
    private var files: [OpenFile] = []

    /// As many as threads of the pool can ask for at once.
    private static let most = 8

    /// - Parameter permissions: that the file has to be made with.
    mutating func take(_ permissions: mode_t) -> OpenFile? {
        files.lastIndex { $0.permissions == permissions }.map { files.remove(at: $0) }
    }

    /// The oldest one gives way where there are many.
    mutating func put(_ file: OpenFile) {
        if files.count >= Self.most { files.removeFirst() }
        files.append(file)
    }
}
