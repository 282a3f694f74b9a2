internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferPorts
import TransferSystem

/// The bytes of one upload on disk, before it is published.
///
/// `@unchecked Sendable`: several threads may write at once, each to its own range, which changes only `written`. One
/// thread publishes or discards, after all of them have ended.
package final class StagedFile: StagedContent, SyncableFile, @unchecked Sendable {
    /// Where an upload's bytes are until it is published.
    enum Place {
        /// A file without a name (O_TMPFILE): it disappears if the process dies.
        case anonymous
        /// A name in the incoming directory that is meaningless to another process.
        case named(String)
        /// A part that stays in the directory until it is published or discarded, so that its upload can be resumed.
        case resumable(String)
        /// A part that cannot be resumed while its content is synced: it has been renamed from the second name to the
        /// first.
        case withdrawn(String, from: String)
        /// The file was published or discarded.
        case none
    }

    /// The number of failed syncs when the file was created.
    let failures: Int

    let incoming: Incoming
    let file: OpenFile
    var place: Place
    private let written = Atomic<UInt64>(0)

    /// Held while a thread writes to a file that several threads write to. The kernel lets one write at a time anyway,
    /// and waiting for that in the kernel occupies a core. Nil if only one thread writes.
    private let turns: Locked<Void>?

    /// The hold on the space that the file takes; nil without limits. It is set before the file is used.
    var hold: SpaceHold?

    /// Whether the file was created for this upload, so that it has only bytes that arrived since.
    package let isNew: Bool

    package private(set) var hasReplaced = false

    package var kept: KeptFile?

    /// Whether its whole room was reserved at once.
    private(set) var isReserved = false

    /// Whether a sheet beside the part records what becomes of it, as for append uploads.
    var hasSheet = false

    /// Whether the attributes of the upload were set.
    private var hasAttributes = false

    /// Bytes after which writing to the disk is started: enough to be worth a call, and so few that little is left to
    /// sync at the end. Measured on ext4: with 1 to 16 MiB a file of 1 GiB is on disk 1 to 6 ms after its last byte was
    /// written, with 64 MiB 15 to 26 ms, without 400 ms.
    static let writeBackStep: UInt64 = 8 << 20

    var number: Int32 { file.descriptor.number }

    var disk: Disk { incoming.directory.disk }
    /// The version of the file; after publication, that of the stored file, because naming it changes the version.
    var version: ContentVersion? { disk.version(number) }

    init(_ file: OpenFile, place: Place, in incoming: Incoming, isNew: Bool = true) {
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

    /// Writes all of the bytes at an offset, or throws.
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
                // If the disk is full, the trash makes room, once.
                if error.errno == ENOSPC, mayMakeRoom, incoming.room.makeRoom(.disk(UInt64(rest.count))) {
                    mayMakeRoom = false
                    continue
                }
                throw Failure(error, doing: "write the content")
            }
            // A file system should never do this; without the check it would cause an endless loop.
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

    /// Checks the minimum of free space, unless the file's room was reserved from the beginning.
    ///
    /// - Returns: whether it had to check.
    @discardableResult
    func checkRoom() throws(Failure) -> Bool {
        guard !isReserved, let hold else { return false }
        try hold.checkRoom()
        return true
    }

    /// Starts writing to the disk after each `writeBackStep` bytes, so that little is left for the final sync. Counts
    /// bytes instead of offsets, because parts of a file arrive in any order.
    ///
    /// - Returns: whether writing was started.
    @discardableResult func startWriting(_ count: UInt64) -> Bool {
        let (old, new) = written.wrappingAdd(count, ordering: .relaxed)
        guard old / Self.writeBackStep != new / Self.writeBackStep else { return false }
        incoming.committer.start(number)
        return true
    }

    /// Reserves room, so that a full disk is detected before the content is sent. Without effect if the file system
    /// does not support it.
    ///
    /// - Parameter filled: bytes that are not in holes, of content that has holes. Then the ranges are unknown, so it
    ///   only checks that there is room for these bytes; uploads at the same time may use that room, too.
    package func reserve(_ size: UInt64, filled: UInt64? = nil) throws(Failure) {
        guard size > 0 else { return }
        do throws(Failure) {
            try reserveOnce(size, filled)
        } catch {
            // If the disk is full, the trash makes room, once.
            guard error.code == .insufficientStorage else { throw error }
            guard incoming.room.makeRoom(.disk(try lacking(min(size, filled ?? size)))) else { throw error }
            try reserveOnce(size, filled)
        }
    }

    /// How many bytes are missing on the disk, at least one. Only these have to be removed from the trash, which may
    /// have less than the whole size of the upload.
    private func lacking(_ size: UInt64) throws(Failure) -> UInt64 {
        let wanted = size - min(size, try present)
        let status = try attempt("look how much is free") { () throws(SystemError) in try disk.room(number) }
        let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return free.overflow ? 1 : max(1, wanted - min(wanted, free.partialValue))
    }

    private func reserveOnce(_ size: UInt64, _ filled: UInt64?) throws(Failure) {
        do throws(SystemError) {
            guard size <= UInt64(off_t.max) else { throw SystemError(errno: EFBIG, call: "fallocate") }
            // Without this check, the disk would be filled before the reservation fails.
            try checkRoom(min(size, filled ?? size))
            // In memory a reservation would clear every page: 0.25 s for a GiB.
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
                // The part that was reserved before the failure would stay reserved.
                giveBackRoom()
                throw error
            }
        }
    }

    /// Releases reserved room that has no content, if the file system allows it. No thread may be writing.
    package func giveBackRoom() {
        do throws(SystemError) {
            let size = UInt64(clamping: try disk.status(number).st_size)
            var position: UInt64 = 0
            while position < size, let hole = try disk.seekIfThere(number, from: position, clinux_seek_hole),
                hole < size
            {
                let data = min(try disk.seekIfThere(number, from: hole, clinux_seek_data) ?? size, size)
                try disk.release(number, hole..<data)
                position = data
            }
            // This releases the room beyond the end as well.
            try disk.truncate(number, to: size)
            isReserved = false
            hold?.shrink(to: try disk.status(number).sizeOfPart)
        } catch {
            // The room stays reserved until the file is removed.
        }
    }

    private func checkRoom(_ size: UInt64) throws(SystemError) {
        let present = try space
        let status = try disk.room(number)
        // A tmpfs without a limit reports no blocks (tmpfs(5), size).
        guard status.f_blocks > 0 else { return }
        let (room, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        guard overflow || room >= size - min(size, present) else { throw SystemError(errno: ENOSPC, call: "fstatvfs") }
    }

    /// Bytes that the file takes on disk.
    private var space: UInt64 {
        get throws(SystemError) {
            try disk.status(number).space
        }
    }

    /// Bytes that the file takes on disk, as a `Failure` if it cannot be examined.
    var present: UInt64 {
        get throws(Failure) {
            try attempt("look at the file") { () throws(SystemError) in try space }
        }
    }

    /// Sets the attributes that the client has declared.
    ///
    /// - Parameter isExact: whether to set the permissions explicitly, because the umask has masked some.
    func setAttributes(
        modified: Timestamp?, permissions: mode_t, isExact: Bool = false, _ extra: ExtraAttributes? = nil
    ) throws(SystemError) {
        hasAttributes = true
        let hasPermissions = if case .anonymous = place { !isExact } else { false }
        try disk.set(number, permissions: hasPermissions ? nil : permissions, modified: modified, extra)
    }

    /// Gives the file its final name; fails with EEXIST if that is taken.
    func giveName(_ name: String, in directory: DirectoryHandle) throws(SystemError) {
        switch place {
        case .anonymous: try link(into: directory, as: name)
        case .named(let part), .resumable(let part), .withdrawn(let part, _):
            try rename(part, into: directory, as: name)
        case .none: throw SystemError(errno: EBADF, call: "renameat")
        }
        leave()
    }

    /// Notes that the file is no longer in the incoming directory.
    private func leave() {
        if case .resumable = place { incoming.parts.wrappingSubtract(1, ordering: .relaxed) }
        place = .none
    }

    /// Gives the file its final name, replacing any file that has it.
    func replace(in directory: DirectoryHandle, name: String, id: UploadID) throws(SystemError) {
        let part = try partName(id: id)
        try disk.rename(incoming.directory.number, part, to: (directory.number, name))
        hasReplaced = true
        leave()
    }

    /// A name in the incoming directory, because only a named file can replace another one.
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

    func rename(_ part: String, into directory: DirectoryHandle, as name: String) throws(SystemError) {
        do throws(SystemError) {
            try disk.renameToFreeName(incoming.directory.number, part, to: (directory.number, name))
        } catch {
            // The file system lacks the flag (rename(2)). A second name, and then the removal of the first, is as
            // atomic.
            guard error.errno == EINVAL else { throw error }
            try link(into: directory, as: name)
            try? incoming.directory.unlink(part)
        }
    }

    /// Hard-links the file; fails with EEXIST if the name is taken. It tries the descriptor first, which is twice as
    /// fast as the path in /proc but needs Linux 6.10 or a privilege. Without both, it fails with ENOENT (open(2),
    /// O_TMPFILE), as it does if the directory was removed.
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

    /// Removes the file with its bytes.
    package func discard() { remove() }

    /// Removes the file with its bytes, as `discard` does.
    ///
    /// - Returns: false if the file may still have its name, because the disk has failed.
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

    /// Whether the file is as it was created.
    private var isPristine: Bool {
        guard !hasAttributes, let status = try? disk.status(number) else { return false }
        return status.st_size == 0 && status.st_blocks == 0
    }
}

extension StagedFile {
    static let partSuffix = ".part"

    static func resumableName(_ id: UploadID) -> String { "\(id)\(partSuffix)" }

    /// The name of a part that a server was syncing when it died. Only the next server gives this name.
    static func interruptedName(_ id: UploadID) -> String { "\(id)\(interruptedSuffix)" }

    private static let interruptedSuffix = "-interrupted" + partSuffix

    /// The names under which the part of an upload can be resumed. The part has one of them at most.
    static func resumableNames(_ id: UploadID) -> [String] { [resumableName(id), interruptedName(id)] }

    /// The ID of the upload whose resumable part has the name; nil if it is no such part.
    static func upload(ofPart name: String) -> UploadID? {
        let suffix = name.hasSuffix(interruptedSuffix) ? interruptedSuffix : partSuffix
        return name.hasSuffix(suffix) ? UploadID(hexadecimal: name.dropLast(suffix.count)) : nil
    }

    /// The name of a withdrawn part. The number distinguishes the part of a dead connection from that of the next one.
    static func withdrawnName(_ id: UploadID, _ number: Int) -> String { "\(id)-\(number)\(withdrawnSuffix)" }

    private static let withdrawnSuffix = "-syncing" + partSuffix

    /// The ID of the upload whose withdrawn part has the name; nil if it is no such part.
    static func upload(ofWithdrawn name: String) -> UploadID? {
        guard name.hasSuffix(withdrawnSuffix), let dash = name.dropLast(withdrawnSuffix.count).lastIndex(of: "-") else {
            return nil
        }
        return UploadID(hexadecimal: name[..<dash])
    }

    /// A temporary name for an entry that is about to replace another one. The next server removes leftovers.
    static func scratchName() -> String { partName(.random(), 0) }

    private static func partName(_ id: UploadID, _ number: Int) -> String { "\(id)-\(number)\(partSuffix)" }

    /// A file without a name, or with a meaningless one if the file system does not support that.
    static func anonymous(
        id: UploadID, permissions: mode_t, in incoming: Incoming
    ) throws(SystemError) -> StagedFile {
        if let spare = incoming.spares.withLock({ $0.take(permissions) }) {
            // The file's time is that at which its upload began.
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

    /// A file named after its upload. The number after the ID distinguishes a dead connection and its successor: each
    /// publishes or discards only its own bytes.
    static func named(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile {
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

    /// The part of an upload that has arrived before. An upload has at most one.
    ///
    /// A part with a second name was published: a file system without a journal may keep both names of a rename after a
    /// power cut. Its name in the incoming directory is removed, so that it is never written to again.
    ///
    /// - Returns: nil if there is no part.
    static func resumable(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile? {
        for name in resumableNames(id) {
            do throws(SystemError) {
                let file = OpenFile(try incoming.directory.openFile(name, flags: O_RDWR), permissions: 0o600)
                guard try incoming.directory.disk.status(file.descriptor.number).st_nlink <= 1 else {
                    try incoming.directory.unlink(name)
                    incoming.parts.wrappingSubtract(1, ordering: .relaxed)
                    continue
                }
                guard name == resumableName(id) else { return try copy(interrupted: file, of: id, in: incoming) }
                return StagedFile(file, place: .resumable(name), in: incoming, isNew: false)
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        return nil
    }

    /// A new part for an upload.
    static func newResumable(id: UploadID, in incoming: Incoming) throws(SystemError) -> StagedFile {
        let name = resumableName(id)
        let flags = O_RDWR | O_CREAT | O_EXCL
        let file = OpenFile(try incoming.directory.openFile(name, flags: flags, mode: 0o600), permissions: 0o600)
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
        return StagedFile(file, place: .resumable(name), in: incoming)
    }
}
