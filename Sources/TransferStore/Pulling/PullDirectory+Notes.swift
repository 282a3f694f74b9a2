internal import CLinux
import Glibc
package import TransferModel
import TransferPorts
import TransferSystem

/// Notes of what was received and is durable here, as long as nobody else may know that: beside the parts of long files, so
/// that they go with the directory. A note is written once and removed, and one that is damaged or lost says nothing: then
/// what it was about is fetched again, and found.
extension PullDirectory {
    private static let prefix = "received-"

    /// Files in one note at most: as many as a server is told of at once. And bytes of them: paths of which every byte is
    /// escaped, and the rest.
    package static let mostNoted = 256
    private static let mostBytes = mostNoted * (6 * Limits.path + ReceivedFile.fixedSize)

    /// Writes down files that are durable.
    ///
    /// - Parameter files: up to `mostNoted`.
    /// - Returns: what the note is called; nothing when it could not be written, which only costs time later.
    package func note(_ files: [ReceivedFile]) -> String? {
        guard (1...Self.mostNoted).contains(files.count), let folder = try? notesFolder() else { return nil }
        let name = Self.prefix + UploadID.random().description
        var text: [UInt8] = []
        for file in files { text += file.line + [UInt8(ascii: "\n")] }
        do throws(SystemError) {
            let file = try folder.openFile(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try Self.write(text, to: file.number, folder.disk)
            return name
        } catch {
            try? folder.unlink(name)
            return nil
        }
    }

    /// All files that are written down.
    package func notes() -> [ReceivedNote] {
        guard let folder = try? notesFolder(isMade: false), let names = try? folder.names() else { return [] }
        return names.filter { $0.utf8.starts(with: Self.prefix.utf8) }.map { name in
            let text = (try? Self.read(name, in: folder)) ?? []
            let lines = text.split(separator: UInt8(ascii: "\n"))
            return ReceivedNote(name: name, files: lines.compactMap { ReceivedFile(line: Array($0)) })
        }
    }

    /// Removes a note.
    package func forget(_ note: String) {
        guard let folder = try? notesFolder(isMade: false) else { return }
        try? folder.unlink(note)
    }

    /// Removes what has come of a delivery that nobody wants any more.
    package func removePart(of id: UploadID) {
        guard let folder = try? notesFolder(isMade: false), let names = try? folder.names() else { return }
        for name in names where StagedFile.upload(ofPart: name) == id { Self.remove(name, in: folder) }
    }

    /// Whether a file that was received is still there as it was then, on disk. Where a sync has failed, or was in flight when
    /// an earlier process was killed, none is.
    package func isUnchanged(_ file: ReceivedFile) -> Bool {
        guard !isInDoubt, let found = reader().attributes(at: file.path), !found.isDirectory else { return false }
        return found.version.hasSameContent(as: file.version)
    }

    private static func write(_ text: [UInt8], to file: Int32, _ disk: Disk) throws(SystemError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { buffer.deallocate() }
        buffer.copyBytes(from: text)
        var done = 0
        while done < text.count {
            let rest = UnsafeRawBufferPointer(rebasing: buffer[done...])
            let count = try disk.write(file, rest, at: UInt64(done))
            guard count > 0 else { throw SystemError(errno: EIO, call: "pwrite") }
            done += count
        }
    }

    private static func read(_ name: String, in folder: DirectoryHandle) throws(SystemError) -> [UInt8] {
        let file = try folder.openFile(name, flags: O_RDONLY | O_NONBLOCK)
        // In a directory that others can write to, anybody could say that something is here.
        guard try folder.disk.status(file.number).st_uid == geteuid() else { return [] }
        var content: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while content.count <= mostBytes {
            let count = try folder.disk.read(file.number, into: buffer)
            guard count > 0 else { return content }
            content += buffer[..<count]
        }
        return []
    }
}
