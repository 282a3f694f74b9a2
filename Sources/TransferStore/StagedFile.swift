internal import CLinux
import Glibc
import TransferProtocol
import TransferSystem

/// The incoming part of one upload: bytes on disk that nobody sees yet.
///
/// `@unchecked Sendable`: several threads may write at once, each its own bytes; one publishes or discards, after all of
/// them have ended.
package final class StagedFile: @unchecked Sendable {
    /// Where an upload's bytes are until it is published.
    enum Place {
        /// No name at all (O_TMPFILE): gone by itself if the process dies.
        case anonymous
        /// A part in the incoming directory that outlives the process.
        case part(name: String)
        /// Published or discarded.
        case none
    }

    let incoming: DirectoryHandle
    private let descriptor: Descriptor
    private(set) var place: Place

    var number: Int32 { descriptor.number }

    private init(_ descriptor: consuming Descriptor, place: Place, in incoming: DirectoryHandle) {
        self.descriptor = descriptor
        self.place = place
        self.incoming = incoming
    }

    deinit {
        discard()
    }

    /// Writes at an offset; all of it or an error.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StoreError) {
        var rest = bytes
        var position = offset
        while !rest.isEmpty {
            let written: Int
            do throws(SystemError) {
                written = try system("pwrite") {
                    pwrite(number, rest.baseAddress, rest.count, off_t(clamping: position))
                }
            } catch {
                throw StoreError(error, doing: "write the content")
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            position += UInt64(written)
        }
    }

    /// Reserves the space, so that a full disk is known before the content travels. Without effect where the file
    /// system cannot.
    func reserve(_ size: UInt64) throws(StoreError) {
        guard size > 0 else { return }
        do throws(SystemError) {
            try system("fallocate") { clinux_fallocate(number, FALLOC_FL_KEEP_SIZE, 0, off_t(clamping: size)) }
        } catch {
            guard error.errno != EOPNOTSUPP, error.errno != ENOSYS else { return }
            throw StoreError(error, doing: "reserve \(size) bytes")
        }
    }

    /// Sets what the client told of its file.
    func setAttributes(modified: Begin.Timestamp?, permissions: mode_t) throws(SystemError) {
        if let modified {
            let times = [
                timespec(tv_sec: 0, tv_nsec: clinux_utime_omit),
                timespec(tv_sec: Int(modified.seconds), tv_nsec: Int(modified.nanoseconds)),
            ]
            try system("futimens") { futimens(number, times) }
        }
        if case .part = place { try system("fchmod") { fchmod(number, permissions) } }
    }

    /// Makes content and attributes durable. An error means that the content may be lost even if a second attempt
    /// should succeed (fsync(2), Notes), so nobody may try again.
    func sync() throws(SystemError) {
        try system("fsync") { fsync(number) }
    }

    /// Gives the file its final name; fails with EEXIST when that is taken.
    func publish(into directory: DirectoryHandle, as name: String) throws(SystemError) {
        switch place {
        case .anonymous: try link(into: directory, as: name)
        case .part(let part): try rename(part, into: directory, as: name)
        case .none: preconditionFailure("a staged file was published twice")
        }
        place = .none
    }

    /// Gives the file its final name, whatever file has it now.
    func replace(in directory: DirectoryHandle, name: String, id: UploadID) throws(SystemError) {
        let part = try partName(id: id)
        try system("renameat") { renameat(incoming.number, part, directory.number, name) }
        place = .none
    }

    /// A name in the incoming directory, which replacing another file needs.
    private func partName(id: UploadID) throws(SystemError) -> String {
        if case .part(let name) = place { return name }
        var number = 0
        while true {
            let name = Self.partName(id, number)
            do throws(SystemError) {
                try link(into: incoming, as: name)
                place = .part(name: name)
                return name
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }

    private func rename(_ part: String, into directory: DirectoryHandle, as name: String) throws(SystemError) {
        do throws(SystemError) {
            try system("renameat2") {
                clinux_renameat2(incoming.number, part, directory.number, name, clinux_rename_noreplace)
            }
        } catch {
            // The file system lacks the flag (rename(2)): a second name, and then one less, is as atomic.
            guard error.errno == EINVAL else { throw error }
            try link(into: directory, as: name)
            try? incoming.unlink(part)
        }
    }

    /// Hard-links the file; fails with EEXIST when the name is taken. The way through /proc needs no privilege, unlike
    /// AT_EMPTY_PATH (open(2), O_TMPFILE).
    private func link(into directory: DirectoryHandle, as name: String) throws(SystemError) {
        try system("linkat") {
            linkat(AT_FDCWD, "/proc/self/fd/\(number)", directory.number, name, AT_SYMLINK_FOLLOW)
        }
    }

    /// Throws the bytes away.
    package func discard() {
        if case .part(let name) = place { try? incoming.unlink(name) }
        place = .none
    }
}

extension StagedFile {
    static let partSuffix = ".part"

    private static func partName(_ id: UploadID, _ number: Int) -> String { "\(id)-\(number)\(partSuffix)" }

    /// A file without a name, or a part where the file system has no such files.
    static func anonymous(
        id: UploadID, permissions: mode_t, in incoming: DirectoryHandle
    ) throws(SystemError) -> StagedFile {
        do throws(SystemError) {
            let flags = clinux_o_tmpfile | O_RDWR
            return StagedFile(
                try incoming.openFile(".", flags: flags, mode: permissions), place: .anonymous, in: incoming)
        } catch {
            guard error.errno == EOPNOTSUPP || error.errno == EISDIR || error.errno == ENOENT else { throw error }
            return try part(id: id, in: incoming)
        }
    }

    /// A file named after its upload. The number behind the id keeps apart a dead connection and the one that replaced
    /// it: each publishes or discards only what it wrote itself.
    static func part(id: UploadID, in incoming: DirectoryHandle) throws(SystemError) -> StagedFile {
        var number = 0
        while true {
            let name = partName(id, number)
            do throws(SystemError) {
                let flags = O_RDWR | O_CREAT | O_EXCL
                return StagedFile(
                    try incoming.openFile(name, flags: flags, mode: 0o600), place: .part(name: name), in: incoming)
            } catch {
                guard error.errno == EEXIST else { throw error }
                number += 1
            }
        }
    }
}
