internal import CLinux
import Glibc
import Synchronization
package import TransferModel
import TransferPorts
import TransferSystem

/// What a part was when it was published, in a file beside the parts, from before the part gets its final name until
/// the upload is recorded. If the server dies in between, the next one makes the upload unfinished again, because the
/// sender of a stream no longer has the blocks that the server has verified.
///
/// The file is not synced, because a power cut can also cost the parts themselves.
struct PublishedPart: Equatable {
    let size: UInt64
    let digest: Digest
    /// The number of the part's file, which publishing does not change. A file that had the content before has another
    /// number.
    let object: UInt64
    let target: UploadTarget

    private static let kind = "transfer published"
    private static let suffix = ".published"

    /// The most bytes of the file: numbers, a digest and a path.
    private static let mostBytes = 1024 + RelativePath.mostTrashBytes

    init(_ publication: Publication) {
        (size, digest) = (publication.size, publication.digest)
        object = publication.staged.version?.object ?? 0
        target = (publication.path, publication.conflict)
    }

    static func == (a: PublishedPart, b: PublishedPart) -> Bool { a.bytes == b.bytes }

    static func name(_ id: UploadID) -> String { "\(id)\(suffix)" }

    /// The ID of the upload whose file has the name; nil for other names.
    static func upload(of name: String) -> UploadID? {
        name.hasSuffix(suffix) ? UploadID(hexadecimal: name.dropLast(suffix.count)) : nil
    }
}

// MARK: The file

extension PublishedPart {
    var bytes: [UInt8] {
        let digest = "\(digest.algorithm.rawValue) \(digest.hexadecimal)"
        return Array(
            "\(Self.kind)\n\(size) \(digest) \(object) \(target.conflict.rawValue)\n\(target.path.string)\n".utf8)
    }

    /// - Returns: nil for bytes that are not such a file, or not all of it.
    init?(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count == 3, lines[0].elementsEqual(Self.kind.utf8), lines[2].last == UInt8(ascii: "\n"),
            let path = String(validating: lines[2].dropLast(), as: UTF8.self).flatMap(RelativePath.init(own:))
        else { return nil }
        let words = String(decoding: lines[1], as: UTF8.self).split(separator: " ")
        guard words.count == 5, let size = UInt64(words[0]),
            let algorithm = UInt8(words[1]).flatMap(DigestAlgorithm.init(rawValue:)),
            let digest = [UInt8](hexadecimal: String(words[2])), digest.count == algorithm.function.size,
            let object = UInt64(words[3]), let conflict = UInt8(words[4]).flatMap(ConflictPolicy.init(rawValue:))
        else { return nil }
        (self.size, self.digest, self.object) = (size, Digest(algorithm, digest), object)
        target = (path, conflict)
    }

    /// - Returns: nil if there is no such file, or an incomplete one, which is removed.
    static func find(_ id: UploadID, in folder: DirectoryHandle) throws(SystemError) -> PublishedPart? {
        do throws(SystemError) {
            let file = try folder.openFile(name(id), flags: O_RDONLY | O_NONBLOCK)
            let found = PublishedPart(try folder.disk.readAll(file.number, most: mostBytes))
            if found == nil { try? folder.unlink(name(id)) }
            return found
        } catch {
            guard error.errno == ENOENT else { throw error }
            return nil
        }
    }

    func write(_ id: UploadID, in folder: DirectoryHandle) throws(SystemError) {
        let file = try folder.openFile(Self.name(id), flags: O_RDWR | O_CREAT | O_TRUNC, mode: 0o600)
        try folder.disk.writeAll(file.number, bytes)
    }
}

// MARK: Publishing

extension FileStore {
    /// Notes what a batch publishes of uploads in parts. If the disk has no room for a note, only a stream whose server
    /// is killed now is lost.
    func note(publishing batch: [Publication]) {
        for publication in batch {
            guard case .resumable = publication.staged.place, !publication.staged.hasSheet else { continue }
            try? PublishedPart(publication).write(publication.id, in: incoming.directory)
        }
    }

    package func forgetPublished(_ id: UploadID) { try? incoming.directory.unlink(PublishedPart.name(id)) }

    package func isUnrecorded(_ id: UploadID) -> Bool { hasName(PublishedPart.name(id)) }
}

// MARK: After a kill

extension FileStore {
    /// Makes the part of an upload that was published and not recorded again, as a copy: other clients may have seen
    /// the published file, and after a failed sync the bytes have to be written again.
    ///
    /// - Parameter hold: reserves the room for the copy.
    /// - Returns: nil if there is no such upload, or if its file has been replaced, moved or removed since.
    func unpublished(_ id: UploadID, _ hold: SpaceHold?) throws(Failure) -> StagedFile? {
        let noted = try attempt("read what was published") { () throws(SystemError) in
            try PublishedPart.find(id, in: incoming.directory)
        }
        guard let noted else { return nil }
        guard let file = try find(noted.digest, size: noted.size, object: noted.object, as: noted.target) else {
            forgetPublished(id)
            return nil
        }
        try hold?.grow(to: noted.size)
        try space?.check(room: noted.size)
        let part = try attempt("copy what was published") { () throws(SystemError) in
            do throws(SystemError) {
                return try StagedFile.copy(file.number, toPartOf: id, in: incoming)
            } catch {
                // What is in the trash gives way, once.
                guard error.errno == ENOSPC, incoming.room.makeRoom(.disk(noted.size)) else { throw error }
                return try StagedFile.copy(file.number, toPartOf: id, in: incoming)
            }
        }
        incoming.parts.wrappingAdd(1, ordering: .relaxed)
        return part
    }

    /// Makes the uploads of mail that is in no mailbox unfinished again. No recipient has seen it, so it is moved and not
    /// copied.
    ///
    /// - Parameter paths: the mail; what is not the mail of an upload in parts stays.
    package func unpublish(mail paths: [RelativePath]) {
        guard let mail = try? tree.open(.mailFolder) else { return }
        for path in paths {
            let name = String(path.name)
            guard RelativePath(mail: path.string) != nil, let id = UploadID(hexadecimal: name.prefix(32)),
                let noted = try? PublishedPart.find(id, in: incoming.directory), noted.target.path == path,
                !hasResumable(id), let status = try? mail.status(name), status.isFile, status.hasOneName
            else { continue }
            // What cannot be moved is removed with the other mail.
            guard (try? take(name, from: mail, as: StagedFile.interruptedName(id))) != nil else { continue }
            space?.quota?.unpublished(ContentVersion(status).size, part: id)
            forgetPublished(id)
        }
    }

    /// Finds a published file under one of the names that its upload may have got. Only a few other files of the same
    /// size are read, so that a client cannot make the server read many.
    ///
    /// - Parameter object: the number of the file that was published; nil if it is not known.
    func find(
        _ digest: Digest, size: UInt64, object: UInt64? = nil, as target: UploadTarget
    ) throws(Failure) -> FoundFile? {
        var path = target.path
        var looks = 0
        for number in 1...ConflictPolicy.mostNumbers {
            let directory = try attempt("look at \(path)") { () throws(SystemError) in try openIfThere(path.parent) }
            guard let directory else { return nil }
            let name = TargetName(directory: directory, name: String(path.name))
            if let version = try name.version(), version.size == size {
                let isPublished = version.object == object
                if !isPublished { looks += 1 }
                guard isPublished || object != nil || looks <= Self.mostLooks else { return nil }
                if isPublished || looks <= Self.mostLooks, let file = try name.find(size: size, digest: digest) {
                    return file
                }
            }
            guard target.conflict == .keepBoth, try !name.isFree(), let next = try? target.path.numbered(number) else {
                return nil
            }
            path = next
        }
        return nil
    }

    private func openIfThere(_ path: RelativePath?) throws(SystemError) -> DirectoryHandle? {
        do throws(SystemError) {
            return try tree.open(path)
        } catch {
            switch error.errno {
            case ENOENT, ENOTDIR, ELOOP, EXDEV: return nil
            default: throw error
            }
        }
    }

    /// The most files of the upload's size that are read.
    private static let mostLooks = 4
}

// MARK: Copies of parts

extension StagedFile {
    /// Copies an interrupted part to a new file, whose sync covers all bytes. If the interrupted sync has failed, later
    /// syncs of the same file succeed without the lost bytes, even if these are written again: after a remount, the
    /// file has zeros there (seen on ext4, Linux 6.18).
    static func copy(
        interrupted: OpenFile, of id: UploadID, in incoming: Incoming
    ) throws(SystemError) -> StagedFile {
        let part = try copy(interrupted.descriptor.number, toPartOf: id, in: incoming)
        do throws(SystemError) {
            try incoming.directory.unlink(interruptedName(id))
        } catch {
            // The name stays until the next server removes it.
            incoming.parts.wrappingAdd(1, ordering: .relaxed)
        }
        return part
    }

    /// Copies a file with its holes to a new part. Bytes that cannot be read or written are left out; a survey finds
    /// them missing.
    fileprivate static func copy(
        _ source: Int32, toPartOf id: UploadID, in incoming: Incoming
    ) throws(SystemError) -> StagedFile {
        let target = try named(id: id, in: incoming)
        let disk = incoming.directory.disk
        let size = UInt64(clamping: try disk.status(source).st_size)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
        defer { buffer.deallocate() }
        var position: UInt64 = 0
        while position < size, let data = try disk.seekIfThere(source, from: position, clinux_seek_data), data < size {
            let end = min(try disk.seekIfThere(source, from: data, clinux_seek_hole) ?? size, size)
            position = max(position, data)
            while position < end {
                let wanted = UnsafeMutableRawBufferPointer(
                    rebasing: buffer.prefix(Int(min(UInt64(buffer.count), end - position))))
                do throws(SystemError) {
                    _ = try disk.copy(source, to: target.number, through: wanted, at: position)
                } catch {
                    guard error.errno == EIO else { throw error }
                }
                position += UInt64(wanted.count)
                target.startWriting(UInt64(wanted.count))
            }
            // A file system that reports data before the requested offset must not cause an endless loop.
            position = max(position, end)
        }
        try disk.truncate(target.number, to: size)
        guard case .named(let name) = target.place else { throw SystemError(errno: EBADF, call: "renameat") }
        try target.rename(name, into: incoming.directory, as: resumableName(id))
        target.place = .none
        return StagedFile(target.file, place: .resumable(resumableName(id)), in: incoming, isNew: false)
    }
}
