import TransferHTTP
import TransferIntake
import TransferModel

/// The address of a resumable upload, below `/.transfer/tus/` or `/.transfer/up/`.
struct UploadAddress {
    /// The protocol of the upload's clients.
    enum Family: String, CaseIterable {
        /// The protocol tus, version 1.0.0.
        case tus
        /// The IETF draft for resumable uploads, draft-ietf-httpbis-resumable-upload.
        case up

        var folder: String { "/\(RelativePath.reservedName)/\(rawValue)/" }
    }

    let family: Family

    /// The upload's ID as the client knows it; nil for the address where uploads are created.
    let id: UploadID?

    /// The folder in which a created upload will be stored; without slashes at either end.
    let folder: String

    /// - Parameter target: the family's folder, or a path below it.
    init(_ target: HTTPTarget, _ family: Family) {
        self.family = family
        let rest = target.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        id = target.isFolder || rest.count != 1 ? nil : rest.first.flatMap { UploadID(hexadecimal: $0) }
        folder = rest.joined(separator: "/")
    }

    /// - Parameter id: as the client knows it.
    static func text(_ id: UploadID, _ family: Family) -> String { family.folder + id.description }

    /// The upload that a client names by its address, absolute or relative (tus 1.0.0, Upload-Concat).
    ///
    /// - Returns: nil if the text is not an address of this family.
    static func id(in text: String, _ family: Family) -> UploadID? {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = text[text.utf8.index(after: slash)...]
        guard String(text[...slash]).utf8.suffix(family.folder.utf8.count).elementsEqual(family.folder.utf8) else {
            return nil
        }
        return UploadID(hexadecimal: name)
    }
}

/// The protocols for resumable uploads: their fields and checksums.
enum UploadDialect {
    /// The protocol tus, version 1.0.0.
    case tus
    /// The IETF draft, draft-ietf-httpbis-resumable-upload; the client's interop version, if it is known.
    case resumable(ResumableInterop?)

    var isTus: Bool {
        if case .tus = self { true } else { false }
    }

    var family: UploadAddress.Family { isTus ? .tus : .up }

    var interop: ResumableInterop? {
        if case .resumable(let interop) = self { interop } else { nil }
    }

    /// Fields that every answer has.
    var identification: [(String, String)] {
        switch self {
        case .tus: [("Tus-Resumable", TusVersion.supported)]
        case .resumable(let interop): interop.map { [("Upload-Draft-Interop-Version", $0.text)] } ?? []
        }
    }

    /// - Parameter offset: number of durable bytes.
    func fields(offset: UInt64, isComplete: Bool) -> [(String, String)] {
        let fields = identification + [("Upload-Offset", "\(offset)")]
        guard case .resumable(let interop) = self else { return fields }
        return fields + [(UploadComplete.name(interop), UploadComplete.text(isComplete, interop))]
    }

    func checksum(_ fields: HTTPFields) throws(HTTPFault) -> PieceChecksum? {
        switch self {
        case .tus: try PieceChecksum.tus(fields)
        case .resumable: try PieceChecksum.contentDigest(fields)
        }
    }
}

/// What a later request needs to know of an upload, stored with it: four lines, of which only the last may contain line ends.
package struct UploadNote: Equatable {
    /// Whether the upload is a piece of another one, and is not stored itself (tus 1.0.0, Upload-Concat).
    var isPiece = false

    /// The SHA-256 of the whole, as its client has stated it.
    var sha256: [UInt8]?

    /// Whether the creating request had `If-None-Match: *`: the path must have no file when the upload is complete.
    var isOnlyNew = false

    /// `If-Match` of the creating request: the path must still have such a file when the upload is complete.
    var match: [UInt8] = []

    /// The field `Upload-Metadata`, unchanged (tus).
    var metadata = ""

    package var bytes: [UInt8] {
        let kind = isPiece ? "piece" : isOnlyNew ? "new" : "whole"
        let front = "\(kind)\n\(sha256.map { String(hexadecimal: $0) } ?? "")\n"
        return Array(front.utf8) + match + Array("\n\(metadata)".utf8)
    }

    init() {}

    /// The value of `match` for a request.
    static func match(of fields: HTTPFields) -> [UInt8] {
        Array(fields.values("if-match").joined(separator: Array(", ".utf8)))
    }

    /// Reads a note; one that is malformed counts as empty.
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
