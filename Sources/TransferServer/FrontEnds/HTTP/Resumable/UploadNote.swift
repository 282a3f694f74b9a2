import TransferHTTP
import TransferModel

/// What this front end has to know of an upload later, as it is kept with it: four lines, of which only the last can have line ends
/// in it.
package struct UploadNote: Equatable {
    /// Whether it is a piece of another one, which alone is stored (tus 1.0.0, Upload-Concat).
    var isPiece = false

    /// What its sender has said that the SHA-256 of all of it is.
    var sha256: [UInt8]?

    /// Whether the request that made it had `If-None-Match: *`: there must be nothing under its path when it is complete.
    var isOnlyNew = false

    /// `If-Match` of the request that made it: what it replaces has to be that still when it is complete.
    var match: [UInt8] = []

    /// `Upload-Metadata`, as it came (tus).
    var metadata = ""

    package var bytes: [UInt8] {
        let kind = isPiece ? "piece" : isOnlyNew ? "new" : "whole"
        let front = "\(kind)\n\(sha256.map { String(hexadecimal: $0) } ?? "")\n"
        return Array(front.utf8) + match + Array("\n\(metadata)".utf8)
    }

    init() {}

    /// What `match` is for a request.
    static func match(of fields: HTTPFields) -> [UInt8] {
        Array(fields.values("if-match").joined(separator: Array(", ".utf8)))
    }

    /// What cannot be read says nothing.
    package init(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 3, omittingEmptySubsequences: false)
        guard lines.count == 4 else { return }
        isPiece = lines[0].elementsEqual("piece".utf8)
        isOnlyNew = lines[0].elementsEqual("new".utf8)
        sha256 = lines[1].isEmpty ? nil : [UInt8](hexadecimal: String(decoding: lines[1], as: UTF8.self))
        match = Array(lines[2])
        metadata = String(decoding: lines[3], as: UTF8.self)
    }
}
