internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Where files of a server arrive: a directory of this machine's user, in which no server stores. Its files are made as a
/// store makes them: whole, durable and under their names in one step, and never outside the directory.
///
/// Synchronous and safe to call from any thread; called on a pool.
package final class PullDirectory: Sendable {
    let tree: DirectoryTree
    let incoming: Incoming
    /// What is pulled into the directory belongs to one command.
    private let command = StoringCommand(id: .random(in: .min ... .max))
    /// Where parts of long files are, once there is one.
    private let parts = Locked<Incoming?>(nil)
    let umask: mode_t

    /// What this user keeps of what arrives.
    let rights: OwnerRights

    /// The folder in the directory in which parts of long files wait to be gone on with.
    package static let partsName = RelativePath.partsName

    private let partsFolder: PrivateFolder

    /// Opens the directory, making it where it is missing.
    ///
    /// - Parameters:
    ///   - path: of this machine; its parent must exist.
    ///   - permissions: those that it is going to have, where it is made: until then it has no more of them, and all of its owner's.
    /// - Throws: `targetFailed` with a sentence that says why.
    package convenience init(
        path: String, permissions: UInt16? = nil, durability: Durability = .commit, disk: Disk = Disk()
    ) throws(Failure) {
        do throws(SystemError) {
            let mode = permissions.map { mode_t($0 & 0o777 | 0o700) } ?? 0o777
            let root = try DirectoryHandle.openOrMake(path: path, mode: mode, on: disk, syncs: durability == .commit)
            try self.init(root, durability)
        } catch {
            throw .cannotStore(in: path, error)
        }
    }

    /// Opens the directory to look at what is in it.
    ///
    /// - Returns: nothing where it is missing.
    /// - Throws: `targetFailed` with a sentence that says why.
    package convenience init?(present path: String, durability: Durability = .commit) throws(Failure) {
        do throws(SystemError) {
            try self.init(try DirectoryHandle(path: path, on: Disk()), durability)
        } catch {
            guard error.errno != ENOENT else { return nil }
            throw .cannotStore(in: path, error)
        }
    }

    private init(_ root: DirectoryHandle, _ durability: Durability) throws(SystemError) {
        tree = DirectoryTree(root: root)
        partsFolder = PrivateFolder([Self.partsName, RelativePath.partsName(of: geteuid())], in: root)
        incoming = try Incoming(root, durability, doubtsIn: .shared(partsFolder))
        umask = try FileStore.readUmask()
        rights = .fetching(isRoot: root.disk.isRoot)
    }

    /// Looks at what is here already.
    package func reader() -> any TreeReader { DirectoryReader(tree) }

    /// What is in a folder here; in the directory itself for nothing.
    package func list(_ folder: RelativePath?) throws(Failure) -> any StoredListing {
        try localized { () throws(Failure) in
            try attempt("list the folder") { () throws(SystemError) in
                try DirectoryListing(try tree.open(folder), at: folder)
            }
        }
    }

    /// Whether the file that has the path has that content. Reads it. Where a sync has failed, or was in flight when an
    /// earlier fetch was killed, nothing has: what is read may not be on disk, and is fetched again.
    package func has(_ path: RelativePath, size: UInt64, digest: Digest) throws(Failure) -> Bool {
        try localized { () throws(Failure) in
            guard !isInDoubt, let directory = try? tree.open(path.parent) else { return false }
            return try TargetName(directory: directory, name: String(path.name)).find(size: size, digest: digest) != nil
        }
    }

    /// A place for the bytes of a file, which goes with whoever holds it.
    ///
    /// - Parameter filled: bytes that are not in holes, of content that has any; then nothing is reserved.
    package func stage(size: UInt64, filled: UInt64? = nil, permissions: UInt16) throws(Failure) -> StagedFile {
        try localized { () throws(Failure) in
            let staged = try attempt("make a file") { () throws(SystemError) in
                try StagedFile.anonymous(id: .random(), permissions: FileStore.mode(permissions), in: incoming)
            }
            if size > UInt64(Limits.blockSize) { try staged.reserve(size, filled: filled) }
            return staged
        }
    }

    /// Publishes verified files. When this returns, those that succeeded are under the paths it names, durably, and nothing
    /// is visible of the others.
    ///
    /// - Returns: one outcome for each publication, in order.
    package func publish(_ batch: [Publication]) -> [Result<PublicationOutcome, Failure>] {
        let publisher = Publisher(tree: tree, umask: umask, rights: rights, incoming: incoming)
        let batch = batch.map { publication in
            var publication = publication
            publication.command = command
            return publication
        }
        return zip(batch, publisher.publish(batch).outcomes).map { publication, outcome in
            // What was skipped has no other name, and nobody will want it.
            if case .success = outcome { publication.staged.discard() }
            return outcome.mapError { error in
                publication.staged.discardUnlessResumable()
                return error.local
            }
        }
    }

    /// Makes a directory, and those above it.
    package func makeDirectory(_ path: RelativePath) throws(Failure) {
        try localized { () throws(Failure) in
            let directories = BatchDirectories(tree, incoming.committer)
            defer { directories.close() }
            _ = try directories.open(path)
            try directories.commit(since: incoming.committer.failures)
        }
    }
}

// MARK: Long files

extension PullDirectory {
    /// The part of a long file, with what has arrived of it before. Parts of what the file was earlier go.
    ///
    /// Its room is to be reserved when it is known what it takes.
    ///
    /// - Parameter id: its first half is the file's, its second half that of the version.
    /// - Returns: nothing when somebody else works on it.
    package func resume(id: UploadID) throws(Failure) -> StagedFile? {
        try localized { () throws(Failure) in
            let directory = try partsDirectory()
            let staged = try attempt("open the part of a file") { () throws(SystemError) in
                if let staged = try StagedFile.resumable(id: id, in: directory) { return staged }
                try Self.removeEarlier(id, in: directory)
                return try StagedFile.newResumable(id: id, in: directory)
            }
            return flock(staged.number, LOCK_EX | LOCK_NB) == 0 ? staged : nil
        }
    }

    /// The folder for parts, in which notes are as well.
    ///
    /// - Parameter isMade: whether it is made where it is missing.
    func notesFolder(isMade: Bool = true) throws(Failure) -> DirectoryHandle {
        try localized { () throws(Failure) in
            guard !isMade else { return try partsDirectory().directory }
            return try attempt("open the folder for parts of files") { () throws(SystemError) in
                guard let folder = try partsFolder.openIfThere() else {
                    throw SystemError(errno: ENOENT, call: "openat")
                }
                return folder
            }
        }
    }

    /// Whether what is read here may not be on disk.
    package var isInDoubt: Bool { incoming.committer.isInDoubt }

    /// Removes the folder of parts, if nothing is left in it.
    package func tidy() {
        incoming.committer.tidy()
        partsFolder.removeIfEmpty()
    }

    private func partsDirectory() throws(Failure) -> Incoming {
        try parts.withLock { (parts) throws(Failure) in
            // Whoever finds it empty removes it, also another process.
            if let parts, let status = try? parts.directory.disk.status(parts.directory.number), status.st_nlink > 0 {
                return parts
            }
            do throws(SystemError) {
                let made = Incoming(try partsFolder.openOrMake(), beside: incoming)
                parts = made
                return made
            } catch {
                guard error.errno != EPERM else { throw .noPrivateFolder }
                throw Failure(error, doing: "make a folder for parts of files")
            }
        }
    }

    /// Also parts that a process which was killed was about to sync: nobody goes on with these.
    private static func removeEarlier(_ id: UploadID, in directory: Incoming) throws(SystemError) {
        for name in try directory.directory.names() {
            let isOver = StagedFile.upload(ofWithdrawn: name) != nil
            let isEarlier = StagedFile.upload(ofPart: name).map { $0.high == id.high && $0 != id } ?? false
            if isOver || isEarlier { remove(name, in: directory.directory) }
        }
    }

    /// Removes a part, unless somebody is still at it.
    static func remove(_ part: String, in directory: DirectoryHandle) {
        guard let file = try? directory.openFile(part, flags: O_RDWR) else { return }
        if flock(file.number, LOCK_EX | LOCK_NB) == 0 { try? directory.unlink(part) }
    }
}

extension StagedFile {
    /// Bytes up to the last one that has arrived.
    package var length: UInt64 {
        (try? disk.status(number)).map { UInt64(max(0, $0.st_size)) } ?? 0
    }

    /// Bytes up to the first that have not arrived, as far as the file system can tell them from what has.
    package var firstHole: UInt64 {
        (try? disk.seek(number, from: 0, clinux_seek_hole)).map { min($0, length) } ?? 0
    }

    /// Reads what has arrived, up to a buffer full.
    ///
    /// - Returns: bytes; less than a buffer full only at the end.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(Failure) -> Int {
        try localized { () throws(Failure) in
            try attempt("read what has arrived before") { () throws(SystemError) in
                var filled = 0
                while filled < buffer.count {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    let count = try disk.read(number, into: rest, at: offset + UInt64(filled))
                    guard count > 0 else { break }
                    filled += count
                }
                return filled
            }
        }
    }

    /// Throws away what has arrived, to begin anew.
    package func empty() throws(Failure) {
        try localized { () throws(Failure) in
            try attempt("empty the part of a file") { () throws(SystemError) in try disk.truncate(number, to: 0) }
        }
    }
}

extension Failure {
    fileprivate static func cannotStore(in path: String, _ error: SystemError) -> Failure {
        Failure(.targetFailed, "Cannot store in '\(path.escapedForDisplay)': \(error.reason).")
    }

    fileprivate static var noPrivateFolder: Failure {
        Failure(
            .targetFailed,
            "The folders '\(RelativePath.partsName)' and '\(RelativePath.partsName(of: geteuid()))' in the directory are of other users, or "
                + "open to them, so parts of files cannot wait there: remove them, or fetch into another directory.")
    }
}
