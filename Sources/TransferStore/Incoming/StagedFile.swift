internal import CLinux
import Glibc
import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The incoming part of one upload: bytes on disk that nobody sees yet.
///
/// `@unchecked Sendable`: several threads may write at once, each its own bytes, which touches nothing but `written`. One
/// thread publishes or discards, after all of them have ended.
package final class StagedFile: StagedContent, @unchecked Sendable {
    /// Where an upload's bytes are until it is published.
    enum Place {
        /// No name at all (O_TMPFILE): gone by itself if the process dies.
        case anonymous
        /// A name in the incoming directory, because it needs one. It means nothing to another process.
        case named(String)
        /// A part that stays there until it is published or discarded, so that its upload can be resumed.
        case resumable(String)
        /// A part that nobody can resume while its content is synced: it has another name than the one it had.
        case withdrawn(String, from: String)
        /// Published or discarded.
        case none
    }

    /// Syncs that had failed when the file was made.
    let failures: Int

    let incoming: Incoming
    private let file: OpenFile
    var place: Place
    private let written = Atomic<UInt64>(0)

    /// Held by whoever writes to a file that several write to. The kernel lets one at a time write anyway, and who waits for
    /// that there uses up a core meanwhile.
    private let turns: Locked<Void>?

    /// What it takes of the space that there is, where that is limited; set before anything else is done with it.
    var hold: SpaceHold?

    /// Whether it was made for its upload, so that nothing is in it but what arrived since.
    package let isNew: Bool

    package private(set) var hasReplaced = false

    package var kept: KeptFile?

    /// Whether all of its room was taken at once.
    private(set) var isReserved = false

    /// Whether the file has the attributes of its upload.
    private var hasAttributes = false

    /// Bytes after which the disk is told to begin: enough to be worth a call, and so few that little is left to wait for
    /// at the end. Measured on ext4: with 1 to 16 MiB a file of 1 GiB is on disk 1 to 6 ms after its last byte was
    /// written, with 64 MiB 15 to 26 ms, without 400 ms.
    static let writeBackStep: UInt64 = 8 << 20

    var number: Int32 { file.descriptor.number }

    var disk: Disk { incoming.directory.disk }
    /// Once published, the stored file's: giving it its name changed it.
    var version: ContentVersion? { disk.version(number) }

    private init(_ file: OpenFile, place: Place, in incoming: Incoming, isNew: Bool = true) {
        self.file = file
        self.isNew = isNew
        self.place = place
        if case .resumable = place { turns = Locked(()) } else { turns = nil }
        self.incoming = incoming
        failures = incoming.committer.failures
    }

    deinit {
        switch place {
        case .named, .withdrawn: discard()
        case .anonymous, .resumable, .none: break
        }
    }

    /// Writes at an offset; all of it or an error.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Failure) {
        try hold?.grow(to: offset.addingClamped(UInt64(bytes.count)))
        var rest = bytes
        var position = offset
        var mayMakeRoom = true
        while !rest.isEmpty {
            let written: Int
            do throws(SystemError) {
                written = try inTurn { () throws(SystemError) in try disk.write(number, rest, at: position) }
            } catch {
                // What is in the trash gives way, once.
                if error.errno == ENOSPC, mayMakeRoom, incoming.room.makeRoom(.disk(UInt64(rest.count))) {
                    mayMakeRoom = false
                    continue
                }
                throw Failure(error, doing: "write the content")
            }
            // No file system should, and nobody may wait for one that does.
            guard written > 0 else {
                throw Failure(SystemError(errno: EIO, call: "pwrite"), doing: "write the content")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            position += UInt64(written)
        }
        let isStep = startWriting(UInt64(bytes.count))
        if isStep { try checkRoom() }
    }

    func inTurn<T>(_ write: () throws(SystemError) -> T) throws(SystemError) -> T {
        switch turns {
        case nil: return try write()
        case .some(let turns): return try turns.withLock { _ throws(SystemError) in try write() }
        }
    }

    /// Looks whether others have enough room left, unless it was this file's from the beginning.
    ///
    /// - Returns: whether it had to look.
    @discardableResult
    func checkRoom() throws(Failure) -> Bool {
        guard !isReserved, let hold else { return false }
        try hold.checkRoom()
        return true
    }

    /// Lets the disk begin with what is there, whenever that is another step's worth: then the sync at the end finds
    /// little to do. By the amount and not by the place, because parts of a file come in any order.
    ///
    /// - Returns: whether it is.
    private func startWriting(_ count: UInt64) -> Bool {
        let (old, new) = written.wrappingAdd(count, ordering: .relaxed)
        guard old / Self.writeBackStep != new / Self.writeBackStep else { return false }
        incoming.committer.start(number)
        return true
    }

    /// Makes sure that there is room, so that a full disk is known before the content travels. Without effect where the
    /// file system cannot.
    ///
    /// - Parameter filled: bytes that are not in holes, of content that has any. Then nobody knows what is to be reserved, and
    ///   it is only looked whether there is room for these: uploads that come at the same time may want it, too.
    package func reserve(_ size: UInt64, filled: UInt64? = nil) throws(Failure) {
        guard size > 0 else { return }
        do throws(Failure) {
            try reserveOnce(size, filled)
        } catch {
            // What is in the trash gives way, once.
            guard error.code == .insufficientStorage else { throw error }
            let wanted = min(size, filled ?? size)
            guard incoming.room.makeRoom(.disk(wanted - min(wanted, try present))) else { throw error }
            try reserveOnce(size, filled)
        }
    }

    private func reserveOnce(_ size: UInt64, _ filled: UInt64?) throws(Failure) {
        do throws(SystemError) {
            guard size <= UInt64(off_t.max) else { throw SystemError(errno: EFBIG, call: "fallocate") }
            // Otherwise a disk is filled before it says that it is full.
            try checkRoom(min(size, filled ?? size))
            // In memory it would clear every page first: 0.25 s for a GiB.
            guard filled == nil, !incoming.fileSystem.isMemory else { return }
            try allocate(size)
            isReserved = true
        } catch {
            throw Failure(error, doing: "reserve \(size) bytes")
        }
    }

    private func allocate(_ size: UInt64) throws(SystemError) {
        do throws(SystemError) {
            try disk.reserve(number, size: off_t(size))
        } catch {
            guard error.errno == EOPNOTSUPP || error.errno == ENOSYS else {
                // What it got before it failed stays its own.
                giveBackRoom()
                throw error
            }
        }
    }

    /// Gives back the room that is reserved and holds nothing, as far as the disk lets us. Nobody may be writing.
    package func giveBackRoom() {
        do throws(SystemError) {
            let size = UInt64(clamping: try disk.status(number).st_size)
            var position: UInt64 = 0
            while position < size, let hole = try seek(position, clinux_seek_hole), hole < size {
                let data = min(try seek(hole, clinux_seek_data) ?? size, size)
                try disk.release(number, hole..<data)
                position = data
            }
            // Takes what lies behind the end, too.
            try disk.truncate(number, to: size)
            isReserved = false
            hold?.shrink(to: try disk.status(number).sizeOfPart)
        } catch {
            // It stays reserved until the file goes.
        }
    }

    private func checkRoom(_ size: UInt64) throws(SystemError) {
        let present = try space
        let status = try disk.room(number)
        // Without a limit it has no blocks (tmpfs(5), size).
        guard status.f_blocks > 0 else { return }
        let (room, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard overflow || room >= size - min(size, present) else { throw SystemError(errno: ENOSPC, call: "fstatvfs") }
    }

    /// Bytes that the file takes already.
    private var space: UInt64 {
        get throws(SystemError) {
            try disk.status(number).space
        }
    }

    /// The same, to whoever asks before it is written to.
    var present: UInt64 {
        get throws(Failure) {
            try attempt("look at the file") { () throws(SystemError) in try space }
        }
    }

    /// Sets what the client told of its file.
    ///
    /// - Parameter isExact: whether it has the permissions only as the umask has left them so far.
    func setAttributes(
        modified: Timestamp?, permissions: mode_t, isExact: Bool = false, _ extra: ExtraAttributes? = nil
    ) throws(SystemError) {
        hasAttributes = true
        let hasPermissions = if case .anonymous = place { !isExact } else { false }
        try disk.set(number, permissions: hasPermissions ? nil : permissions, modified: modified, extra)
    }

    /// Gives the file its final name; fails with EEXIST when that is taken.
    func giveName(_ name: String, in directory: DirectoryHandle) throws(SystemError) {
        switch place {
        case .anonymous: try link(into: directory, as: name)
        case .named(let part), .resumable(let part), .withdrawn(let part, _):
            try rename(part, into: directory, as: name)
        case .none: throw SystemError(errno: EBADF, call: "renameat")
        }
        leave()
    }

    /// It has no place among the incoming parts any more.
    private func leave() {
        if case .resumable = place { incoming.parts.wrappingSubtract(1, ordering: .relaxed) }
        place = .none
    }

    /// Gives the file its final name, whatever file has it now.
    func replace(in directory: DirectoryHandle, name: String, id: UploadID) throws(SystemError) {
        let part = try partName(id: id)
        try disk.rename(incoming.directory.number, part, to: (directory.number, name))
        hasReplaced = true
        leave()
    }

    /// A name in the incoming directory, which replacing another file needs.
    private func partName(id: UploadID) throws(SystemError) -> String {
        switch place {
        case .named(let name), .resumable(let name), .withdrawn(let name, _): return name
        case .anonymous, .none: break
        }
        var number = 0
        while true {
            let name = Self.partName(id, number)
            do throws(SystemError) {
                try link(into: incoming.directory, as: name)
                place = .named(name)
                return name
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }

    private func rename(_ part: String, into directory: DirectoryHandle, as name: String) throws(SystemError) {
        do throws(SystemError) {
            try disk.renameToFreeName(incoming.directory.number, part, to: (directory.number, name))
        } catch {
            // The file system lacks the flag (rename(2)): a second name, and then one less, is as atomic.
            guard error.errno == EINVAL else { throw error }
            try link(into: directory, as: name)
            try? incoming.directory.unlink(part)
        }
    }

    /// Hard-links the file; fails with EEXIST when the name is taken. By its descriptor, which is twice as fast as the way
    /// through /proc but needs Linux 6.10 or a privilege; ENOENT says that there is neither (open(2), O_TMPFILE), or
    /// that the directory is gone.
    func link(into directory: DirectoryHandle, as name: String) throws(SystemError) {
        if incoming.linksByDescriptor.load(ordering: .relaxed) {
            do throws(SystemError) {
                try disk.link(number, "", flags: clinux_at_empty_path, to: (directory.number, name))
                return
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        let path = "/proc/self/fd/\(number)"
        try disk.link(number, path, flags: AT_SYMLINK_FOLLOW, to: (directory.number, name))
        incoming.linksByDescriptor.store(false, ordering: .relaxed)
    }

    /// Throws the bytes away.
    package func discard() { remove() }

    /// The same.
    ///
    /// - Returns: false where the file may have its name still, because the disk has failed.
    @discardableResult func remove() -> Bool {
        var isGone = true
        switch place {
        case .named(let name), .resumable(let name), .withdrawn(let name, _):
            do throws(SystemError) {
                try incoming.directory.unlink(name)
            } catch {
                isGone = error.errno == ENOENT
            }
        case .anonymous where isPristine: incoming.spares.withLock { $0.put(file) }
        case .anonymous, .none: break
        }
        leave()
        hold?.giveBack()
        return isGone
    }

    /// Whether it is as it was made.
    private var isPristine: Bool {
        guard !hasAttributes, let status = try? disk.status(number) else { return false }
        return status.st_size == 0 && status.st_blocks == 0
    }
}

extension StagedFile {
    static let partSuffix = ".part"

    static func resumableName(_ id: UploadID) -> String { "\(id)\(partSuffix)" }

    /// The upload whose resumable part has the name.
    static func upload(ofPart name: String) -> UploadID? {
        name.hasSuffix(partSuffix) ? UploadID(hexadecimal: name.dropLast(partSuffix.count)) : nil
    }

    /// Of a part that is withdrawn. The number keeps apart a dead connection's and the one that replaced it.
    static func withdrawnName(_ id: UploadID, _ number: Int) -> String { "\(id)-\(number)\(withdrawnSuffix)" }

    private static let withdrawnSuffix = "-syncing" + partSuffix

    /// The upload whose withdrawn part has the name.
    static func upload(ofWithdrawn name: String) -> UploadID? {
        guard name.hasSuffix(withdrawnSuffix), let dash = name.dropLast(withdrawnSuffix.count).lastIndex(of: "-") else {
            return nil
        }
        return UploadID(hexadecimal: name[..<dash])
    }

    /// For what is about to take the place of something. The next server removes what is left behind of these.
    static func scratchName() -> String { partName(.random(), 0) }

    private static func partName(_ id: UploadID, _ number: Int) -> String { "\(id)-\(number)\(partSuffix)" }

    /// A file without a name, or with one that means nothing where the file system has no such files.
    static func anonymous(
        id: UploadID, permissions: mode_t, in incoming: Incoming
    ) throws(SystemError) -> StagedFile {
        if let spare = incoming.spares.withLock({ $0.take(permissions) }) {
            // Times are told from when its upload began.
            try incoming.directory.disk.set(spare.descriptor.number, permissions: nil, modified: .now, nil)
            return StagedFile(spare, place: .anonymous, in: incoming)
        }
        do throws(SystemError) {
            let flags = clinux_o_tmpfile | O_RDWR
            let file = OpenFile(
                try incoming.directory.openFile(".", flags: flags, mode: permissions), permissions: permissions)
            return StagedFile(file, place: .anonymous, in: incoming)
        } catch {
            guard error.errno == EOPNOTSUPP || error.errno == EISDIR || error.errno == ENOENT else { throw error }
            return try named(id: id, in: incoming)
        }
    }

    /// A file named after its upload. The number behind the id keeps apart a dead connection and the one that replaced
    /// it: each publishes or discards only what it wrote itself.
    private static func named(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile {
        var number = 0
        while true {
            let name = partName(id, number)
            do throws(SystemError) {
                let flags = O_RDWR | O_CREAT | O_EXCL
                let file = OpenFile(
                    try incoming.directory.openFile(name, flags: flags, mode: 0o600), permissions: 0o600)
                return StagedFile(file, place: .named(name), in: incoming)
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }

    /// The part that has arrived of an upload before. There is one of each upload at most.
    ///
    /// One that has another name, too, is what was published: a file system without a journal may keep both names of a
    /// rename when the power is cut. Nobody writes to that again, and its name here goes.
    ///
    /// - Returns: nothing when there is none.
    static func resumable(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile? {
        let name = resumableName(id)
        do throws(SystemError) {
            let file = OpenFile(try incoming.directory.openFile(name, flags: O_RDWR), permissions: 0o600)
            guard try incoming.directory.disk.status(file.descriptor.number).st_nlink <= 1 else {
                try incoming.directory.unlink(name)
                incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                return nil
            }
            return StagedFile(file, place: .resumable(name), in: incoming, isNew: false)
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
    }

    /// A part for an upload that has none.
    static func newResumable(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile {
        let name = resumableName(id)
        let flags = O_RDWR | O_CREAT | O_EXCL
        let file = OpenFile(try incoming.directory.openFile(name, flags: flags, mode: 0o600), permissions: 0o600)
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
        return StagedFile(file, place: .resumable(name), in: incoming)
    }
}

extension Publication {
    /// Its content, to the directory store.
    var staged: StagedFile {
        // Trap: content is published by the store that has staged it.
        guard let file = content as? StagedFile else { preconditionFailure("content of another store") }
        return file
    }
}

extension FileStore {
    /// A place for the bytes of one upload, which goes with whoever holds it.
    ///
    /// - Parameters:
    ///   - size: what the client declared, or nothing; for more than one block space is reserved.
    ///   - filled: bytes that are not in holes, as far as the client can tell, of content that has any; then nothing is reserved.
    ///   - quota: of the client, where it has one.
    package func stage(
        id: UploadID, size: UInt64?, filled: UInt64? = nil, permissions: UInt16?, quota: Quota? = nil
    ) throws(Failure) -> StagedFile {
        let staged = try attempt("make a file for the upload") { () throws(SystemError) in
            try StagedFile.anonymous(id: id, permissions: Self.mode(permissions), in: incoming)
        }
        staged.hold = SpaceHold(space, client: quota)
        if let size { try staged.hold?.grow(to: size) }
        if let size, size > UInt64(Limits.blockSize) { try reserve(size, filled, for: staged) }
        return staged
    }

    /// Takes the room on disk at once, where the file system can and the content has no holes.
    func reserve(_ size: UInt64, _ filled: UInt64? = nil, for staged: StagedFile) throws(Failure) {
        guard let space else { return try staged.reserve(size, filled: filled) }
        let wanted = min(size, filled ?? size)
        try space.reserve(wanted - min(wanted, try staged.present)) { () throws(Failure) in
            try staged.reserve(size, filled: filled)
        }
    }

    /// Permission bits for a new file; without any from the client, those of any new file.
    static func mode(_ permissions: UInt16?) -> mode_t { mode_t(permissions ?? 0o666) & 0o777 }
}
