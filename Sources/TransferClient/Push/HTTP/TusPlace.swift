import Glibc
import TransferHTTP
import TransferSystem

/// The file with the address under which a tus server has the beginning of an upload, so that a later run can resume
/// it.
struct TusPlace: Sendable {
    struct Record: Equatable, Sendable {
        /// The path and query, as the server named them.
        let location: String
        /// Whether every piece was sent with its digest.
        let isCompared: Bool
    }

    let path: String

    /// The version of the format, in the first byte.
    private static let version: UInt8 = 1

    /// The most bytes of an address: an answer has no longer lines.
    private static let longestLocation = ResponseReader.window

    /// Returns nil without a folder, and for uploads that need no record: a source that is not a file becomes another
    /// upload next time, and content that fits into one piece is sent again just as fast.
    init?(in folder: StateFolder?, _ web: WebAddress, _ content: HTTPContent) {
        guard let folder, let file = content.file, file.identity.size > TusUpload.pieceSize else { return nil }
        let identity = file.identity
        let numbers = [
            UInt64(identity.device), UInt64(identity.inode), identity.size,
            UInt64(bitPattern: identity.modified.seconds), UInt64(identity.modified.nanoseconds),
        ]
        let words = [web.description, file.path.absolutePath, content.upload.destination]
        path = folder.file("transfer tus place 1", words + numbers.map { "\($0)" })
    }

    /// - Returns: nil if there is no usable record.
    func find() -> Record? {
        guard let file = try? OwnFile(reading: path, atMost: Self.longestLocation + 2), file.isPrivate, !file.isLonger,
            file.content.count > 2, file.content[0] == Self.version, file.content[1] <= 1,
            let location = String(validating: file.content[2...], as: UTF8.self)
        else { return nil }
        return Record(location: location, isCompared: file.content[1] == 1)
    }

    /// Keeps the record. A failure is ignored, because it only makes a later run send the bytes again.
    func keep(_ record: Record) {
        let bytes = [Self.version, record.isCompared ? 1 : 0] + Array(record.location.utf8)
        _ = try? StateFolder.write(bytes, to: path, replaces: true)
    }

    func remove() { unlink(path) }
}
