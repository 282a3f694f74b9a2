internal import CLinux
import Glibc
package import TransferModel
import TransferPorts
import TransferSystem

/// Notes of files that were received and are durable in this directory, kept as long as the server may not know that.
/// They are beside the parts of long files, so that they move with the directory. A note is written once, and later
/// removed. If it is damaged or lost, its files are fetched again, and found to be in the directory.
extension PullDirectory {
    private static let prefix = "received-"

    /// The most files in one note: as many as one message to the server has. `mostBytes` are the most bytes of a note,
    /// in which every byte of the paths may be escaped.
    package static let mostNoted = 256
    private static let mostBytes = mostNoted * (6 * Limits.path + ReceivedFile.fixedSize)

    /// Writes a note of durable files.
    ///
    /// - Parameter files: at most `mostNoted`.
    /// - Returns: the name of the note; nil if it could not be written, which only costs time later.
    package func note(_ files: [ReceivedFile]) -> String? {
        guard (1...Self.mostNoted).contains(files.count), let folder = try? notesFolder() else { return nil }
        let name = Self.prefix + UploadID.random().description
        var text: [UInt8] = []
        for file in files { text += file.line + [UInt8(ascii: "\n")] }
        do throws(SystemError) {
            let file = try folder.openFile(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
            try folder.disk.writeAll(file.number, text)
            return name
        } catch {
            try? folder.unlink(name)
            return nil
        }
    }

    /// All notes with their files.
    package func notes() -> [ReceivedNote] {
        guard let folder = try? notesFolder(isMade: false), let names = try? folder.names() else { return [] }
        return names.filter { $0.utf8.starts(with: Self.prefix.utf8) }.map { name in
            let text = (try? Self.read(name, in: folder)) ?? []
            let lines = text.split(separator: UInt8(ascii: "\n"))
            return ReceivedNote(name: name, files: lines.compactMap { ReceivedFile(line: Array($0)) })
        }
    }

    package func forget(_ note: String) {
        guard let folder = try? notesFolder(isMade: false) else { return }
        try? folder.unlink(note)
    }

    /// Removes the part of a delivery that is no longer wanted.
    package func removePart(of id: UploadID) {
        guard let folder = try? notesFolder(isMade: false), let names = try? folder.names() else { return }
        for name in names where StagedFile.upload(ofPart: name) == id { Self.remove(name, in: folder) }
    }

    /// Whether a received file is unchanged and on disk. After a failed sync, or a sync in flight when an earlier
    /// process was killed, no file counts.
    package func isUnchanged(_ file: ReceivedFile) -> Bool {
        guard !isInDoubt, let found = reader().attributes(at: file.path), !found.isDirectory else { return false }
        return found.version.hasSameContent(as: file.version)
    }

    private static func read(_ name: String, in folder: DirectoryHandle) throws(SystemError) -> [UInt8] {
        let file = try folder.openFile(name, flags: O_RDONLY | O_NONBLOCK)
        // In a directory that other users can write to, they could forge a note.
        guard try folder.disk.status(file.number).st_uid == geteuid() else { return [] }
        let content = try folder.disk.readAll(file.number, most: mostBytes + 1)
        return content.count > mostBytes ? [] : content
    }
}
