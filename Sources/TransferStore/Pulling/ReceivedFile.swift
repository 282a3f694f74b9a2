package import TransferModel
import TransferPorts

/// A file that was received from another person, as it was when it had become durable.
package struct ReceivedFile: Equatable, Sendable {
    /// The ID of the upload that it was received as.
    package let id: UploadID

    /// The path below the directory.
    package let path: RelativePath

    package let digest: Digest

    /// The version of the file on this machine, with the size of the content.
    package let version: ContentVersion

    /// Bytes that were received; for unsealed content, the bytes of the sealed file.
    package let travelled: UInt64

    /// SHA-256 of the signed note with which the content was verified, `noteSize` bytes; nil if it was not compared
    /// with a note.
    package let note: [UInt8]?

    package init(
        _ id: UploadID, _ path: RelativePath, _ digest: Digest, travelled: UInt64, _ version: ContentVersion,
        note: [UInt8]? = nil
    ) {
        (self.id, self.path, self.digest, self.version) = (id, path, digest, version)
        (self.travelled, self.note) = (travelled, note)
    }

    /// The size of a SHA-256 digest, in bytes (FIPS 180-4).
    package static let noteSize = 32
}

/// The files of one note.
package struct ReceivedNote: Sendable {
    /// The name of the note's file.
    package let name: String

    package let files: [ReceivedFile]
}

extension ReceivedFile {
    /// The file's line in a note, without the line feed.
    package var line: [UInt8] {
        ByteWriter.bytes(capacity: Self.fixedSize + ByteWriter.longestJSON(of: path.string)) { line in
            line.append("{\"id\":\"")
            line.append(id.description)
            line.append("\",\"path\":")
            line.append(jsonString: path.string)
            line.append(",\"digest\":\"")
            line.append(decimal: UInt64(digest.algorithm.rawValue))
            line.append(":")
            line.append(hexadecimal: digest.bytes)
            line.append("\",\"size\":")
            line.append(decimal: version.size)
            line.append(",\"object\":\"")
            line.append(decimal: version.object)
            line.append("\",\"revision\":\"")
            line.append(String(version.revision))
            line.append("\",\"touch\":\"")
            line.append(String(version.touch))
            line.append("\",\"travelled\":\"")
            line.append(decimal: travelled)
            if let note {
                line.append("\",\"note\":\"")
                line.append(hexadecimal: note)
            }
            line.append("\"}")
        }
    }

    /// An upper bound for the bytes of a line without its path.
    static let fixedSize = 512

    /// - Returns: nil for anything that `line` does not write.
    package init?(line: [UInt8]) {
        guard let node = try? JSONReader.read(line, deepest: 1, mostValues: 16), case .string(let id)? = node["id"],
            let id = UploadID(hexadecimal: id), case .string(let path)? = node["path"],
            let path = try? RelativePath(path), case .string(let digest)? = node["digest"],
            let digest = Digest(noted: digest), case .number(let size)? = node["size"], let size = UInt64(size),
            case .string(let object)? = node["object"], let object = UInt64(object),
            case .string(let revision)? = node["revision"], let revision = Int64(revision),
            case .string(let touch)? = node["touch"], let touch = Int64(touch)
        else { return nil }
        var (travelled, note) = (size, nil as [UInt8]?)
        if let value = node["travelled"] {
            guard case .string(let text) = value, let bytes = UInt64(text) else { return nil }
            travelled = bytes
        }
        if let value = node["note"] {
            guard case .string(let text) = value, let bytes = [UInt8](hexadecimal: Substring(text)),
                bytes.count == Self.noteSize
            else { return nil }
            note = bytes
        }
        self.init(
            id, path, digest, travelled: travelled,
            ContentVersion(object: object, revision: revision, touch: touch, size: size), note: note)
    }
}

extension Digest {
    fileprivate init?(noted text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: ":"))
        guard parts.count == 2, let number = UInt8(String(Substring(parts[0]))),
            let algorithm = DigestAlgorithm(rawValue: number), let bytes = [UInt8](hexadecimal: Substring(parts[1])),
            bytes.count == algorithm.function.size
        else { return nil }
        self.init(algorithm, bytes)
    }
}
