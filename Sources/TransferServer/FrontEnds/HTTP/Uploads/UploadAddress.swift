import TransferHTTP
import TransferIntake
import TransferModel

/// Where an upload is that can be gone on with.
struct UploadAddress {
    /// What its clients speak.
    enum Family: String, CaseIterable {
        /// tus 1.0.0.
        case tus
        /// draft-ietf-httpbis-resumable-upload.
        case up

        var folder: String { "/\(RelativePath.reservedName)/\(rawValue)/" }
    }

    let family: Family

    /// As the client knows it; nil for where they are made.
    let id: UploadID?

    /// The folder that it is to be stored in, where it is made; without slashes around it.
    let folder: String

    /// - Parameter target: one below the family's folder, or that itself.
    init(_ target: HTTPTarget, _ family: Family) {
        self.family = family
        let rest = target.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst(2)
        id = target.isFolder || rest.count != 1 ? nil : rest.first.flatMap { UploadID(hexadecimal: $0) }
        folder = rest.joined(separator: "/")
    }

    /// - Parameter id: as the client knows it.
    static func text(_ id: UploadID, _ family: Family) -> String { family.folder + id.description }

    /// The upload that a client names by its address, absolute or not (tus 1.0.0, Upload-Concat).
    ///
    /// - Returns: nil for what is no address of this server's kind.
    static func id(in text: String, _ family: Family) -> UploadID? {
        guard let slash = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
        let name = text[text.utf8.index(after: slash)...]
        guard String(text[...slash]).utf8.suffix(family.folder.utf8.count).elementsEqual(family.folder.utf8) else {
            return nil
        }
        return UploadID(hexadecimal: name)
    }
}

/// How clients speak of uploads that can be gone on with.
enum UploadDialect {
    /// tus 1.0.0.
    case tus
    /// draft-ietf-httpbis-resumable-upload, in the client's version where that is known.
    case resumable(ResumableInterop?)

    var isTus: Bool {
        if case .tus = self { true } else { false }
    }

    var family: UploadAddress.Family { isTus ? .tus : .up }

    var interop: ResumableInterop? {
        if case .resumable(let interop) = self { interop } else { nil }
    }

    /// What every answer says.
    var identification: [(String, String)] {
        switch self {
        case .tus: [("Tus-Resumable", TusVersion.supported)]
        case .resumable(let interop): interop.map { [("Upload-Draft-Interop-Version", $0.text)] } ?? []
        }
    }

    /// - Parameter offset: bytes that are durable.
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
