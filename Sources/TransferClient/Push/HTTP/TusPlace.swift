import Glibc
import TransferHTTP
import TransferSystem

/// Where it is kept under which address a server of tus has what has come of a file, so that a later run goes on with it.
struct TusPlace: Sendable {
    struct Record: Equatable, Sendable {
        /// Path and query, as the server has named them.
        let location: String
        /// Whether every piece had its digest with it.
        let isCompared: Bool
    }

    let path: String

    /// The only one so far; the first byte.
    private static let version: UInt8 = 1

    /// Bytes of an address: more never come in a line of an answer.
    private static let longestLocation = ResponseReader.window

    /// Nothing where the folder is nothing, and for what has no need of it: what is not a file is another one next time, and what
    /// fits one piece is sent anew as fast.
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

    /// - Returns: nothing where there is nothing that can be used.
    func find() -> Record? {
        guard let file = try? OwnFile(reading: path, atMost: Self.longestLocation + 2), file.isPrivate, !file.isLonger,
            file.content.count > 2, file.content[0] == Self.version, file.content[1] <= 1,
            let location = String(validating: file.content[2...], as: UTF8.self)
        else { return nil }
        return Record(location: location, isCompared: file.content[1] == 1)
    }

    /// What cannot be kept only costs a later run the bytes.
    func keep(_ record: Record) {
        let bytes = [Self.version, record.isCompared ? 1 : 0] + Array(record.location.utf8)
        _ = try? StateFolder.write(bytes, to: path, replaces: true)
    }

    func remove() { unlink(path) }
}
