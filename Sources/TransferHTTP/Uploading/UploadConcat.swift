/// Whether an upload is a piece of another, or is made of pieces (tus 1.0.0, concatenation).
package enum UploadConcat: Equatable, Sendable {
    /// `partial`
    case partial
    /// `final;/files/a /files/b`: of these, in their order; URLs or paths, as they came.
    case final([String])

    /// Pieces of one upload.
    package static let mostPieces = 1000

    /// - Throws: 400 for anything else, for no pieces and for too many.
    package init(_ text: String) throws(HTTPFault) {
        if text.utf8.elementsEqual("partial".utf8) {
            self = .partial
            return
        }
        var reader = FieldReader(text.utf8)
        guard reader.takeText("final;"), reader.rest.allSatisfy({ 0x20..<0x7F ~= $0 }) else {
            throw HTTPFault(400, "Upload-Concat is neither 'partial' nor 'final;' and URLs.")
        }
        let pieces = reader.rest.split(separator: 0x20)
        guard (1...Self.mostPieces).contains(pieces.count) else {
            throw HTTPFault(400, "Upload-Concat has no URLs, or more than \(Self.mostPieces).")
        }
        self = .final(pieces.map { String(decoding: $0, as: UTF8.self) })
    }
}
