/// The role of an upload in a concatenation: a piece, or the whole (tus 1.0.0, concatenation).
package enum UploadConcat: Equatable, Sendable {
    /// A piece of another upload: `partial`.
    case partial
    /// The whole, made of these pieces in order, `final;/files/a /files/b`; URLs or paths as they were sent.
    case final([String])

    /// Most pieces of one upload.
    package static let mostPieces = 1000

    /// - Throws: 400 for any other text, for no pieces and for too many.
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
