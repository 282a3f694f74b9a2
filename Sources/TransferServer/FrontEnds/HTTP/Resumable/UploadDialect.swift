import TransferHTTP

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
