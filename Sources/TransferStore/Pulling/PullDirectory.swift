internal import CLinux
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// The directory into which a client fetches files, and in which no server stores. Files are created as in a store:
/// whole, durable and under their names in one step, and never outside the directory.
///
/// Synchronous and safe to call from any thread; called on a pool.
package final class PullDirectory: Sendable {
    let tree: DirectoryTree
    let incoming: Incoming
    /// The command that all files of this directory belong to.
    private let command = StoringCommand(id: .random(in: .min ... .max))
    /// The folder of the parts of long files; nil before the first one.
    private let parts = Locked<Incoming?>(nil)
    let umask: mode_t

    /// Permissions that this user keeps on fetched files.
    let rights: OwnerRights

    /// The name of the folder for the parts of long files.
    package static let partsName = RelativePath.partsName

    private let partsFolder: PrivateFolder

    /// Opens the directory, creating it if it is missing.
    ///
    /// - Parameters:
    ///   - path: a path on this machine; its parent must exist.
    ///   - permissions: the final permissions of the directory. If it is created, it has these, and all permissions for
    ///     its owner until they are set.
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

    /// Opens the directory if it exists.
    ///
    /// - Returns: nil if it is missing.
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

    /// A reader that looks up existing files in this directory.
    package func reader() -> any TreeReader { DirectoryReader(tree) }

    /// Lists a folder of this directory; nil stands for the directory itself.
    package func list(_ folder: RelativePath?) throws(Failure) -> any StoredListing {
        try localized { () throws(Failure) in
            try attempt("list the folder") { () throws(SystemError) in
                try DirectoryListing(try tree.open(folder), at: folder)
            }
        }
    }

    /// Whether the file at the path has this content; reads it. After a failed sync, or a sync in flight when an
    /// earlier fetch was killed, no file counts, because the content may not be on disk, and it is fetched again.
    package func has(_ path: RelativePath, size: UInt64, digest: Digest) throws(Failure) -> Bool {
        try localized { () throws(Failure) in
            guard !isInDoubt, let directory = try? tree.open(path.parent) else { return false }
            return try TargetName(directory: directory, name: String(path.name)).find(size: size, digest: digest) != nil
        }
    }

    /// A file for the bytes of one fetch, which is removed with its last reference.
    ///
    /// - Parameter filled: bytes that are not in holes; nil for content without holes. With holes, no room is reserved.
    package func stage(size: UInt64, filled: UInt64? = nil, permissions: UInt16) throws(Failure) -> StagedFile {
        try localized { () throws(Failure) in
            let staged = try attempt("create a file") { () throws(SystemError) in
                try StagedFile.anonymous(id: .random(), permissions: FileStore.mode(permissions), in: incoming)
            }
            if size > UInt64(Limits.blockSize) { try staged.reserve(size, filled: filled) }
            return staged
        }
    }

    /// Publishes verified files. When this returns, those that succeeded are durable under the returned paths, and the
    /// others are not visible.
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
            // A skipped file has no other name and is not needed.
            if case .success = outcome { publication.staged.discard() }
            return outcome.mapError { error in
                publication.staged.discardUnlessResumable()
                return error.local
            }
        }
    }

    /// Creates a directory, and those above it.
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
    /// The part of a long file, with the bytes that have arrived before. Parts of earlier versions of the file are
    /// removed.
    ///
    /// The caller reserves room for it once the size is known.
    ///
    /// - Parameter id: its first half identifies the file, its second half the version.
    /// - Returns: nil if another process works on it.
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

    /// The folder for parts, which also has the notes.
    ///
    /// - Parameter isMade: whether to create it if it is missing.
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

    /// Whether files that are read from this directory may not be on disk.
    package var isInDoubt: Bool { incoming.committer.isInDoubt }

    /// Removes the folder for parts if it is empty.
    package func tidy() {
        incoming.committer.tidy()
        partsFolder.removeIfEmpty()
    }

    private func partsDirectory() throws(Failure) -> Incoming {
        try parts.withLock { (parts) throws(Failure) in
            // Another process may have removed the folder because it was empty.
            if let parts, let status = try? parts.directory.disk.status(parts.directory.number), status.st_nlink > 0 {
                return parts
            }
            do throws(SystemError) {
                let made = Incoming(try partsFolder.openOrMake(), beside: incoming)
                parts = made
                return made
            } catch {
                guard error.errno != EPERM else { throw .noPrivateFolder }
                throw Failure(error, doing: "create a folder for parts of files")
            }
        }
    }

    /// Removes parts of earlier versions, and parts that a killed process was about to sync, which cannot be resumed.
    private static func removeEarlier(_ id: UploadID, in directory: Incoming) throws(SystemError) {
        for name in try directory.directory.names() {
            let isOver = StagedFile.upload(ofWithdrawn: name) != nil
            let isEarlier = StagedFile.upload(ofPart: name).map { $0.high == id.high && $0 != id } ?? false
            if isOver || isEarlier { remove(name, in: directory.directory) }
        }
    }

    /// Removes a part, unless another process works on it.
    static func remove(_ part: String, in directory: DirectoryHandle) {
        guard let file = try? directory.openFile(part, flags: O_RDWR) else { return }
        if flock(file.number, LOCK_EX | LOCK_NB) == 0 { try? directory.unlink(part) }
    }
}

extension StagedFile {
    /// The size of the part, up to the last byte that has arrived.
    package var length: UInt64 {
        (try? disk.status(number)).map { UInt64(max(0, $0.st_size)) } ?? 0
    }

    /// The offset of the first hole, as far as the file system can report it.
    package var firstHole: UInt64 {
        (try? disk.seek(number, from: 0, clinux_seek_hole)).map { min($0, length) } ?? 0
    }

    /// Reads bytes that have arrived, until the buffer is full.
    ///
    /// - Returns: the number of bytes; less than the buffer's size only at the end.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
    ) throws(Failure) -> Int {
        try localized { () throws(Failure) in
            try attempt("read the stored part") { () throws(SystemError) in
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

    /// Discards the bytes that have arrived.
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
            "The folders '\(RelativePath.partsName)' and '\(RelativePath.partsName(of: geteuid()))' in "
                + "the directory belong to other users, or other users can write in them, so parts of files "
                + "cannot be kept there: remove the folders, or fetch into another directory.")
    }
}
