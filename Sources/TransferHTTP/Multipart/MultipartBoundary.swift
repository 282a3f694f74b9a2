/// The boundary between parts of a multipart body (RFC 2046, section 5.1.1).
package struct MultipartBoundary: Equatable, Sendable {
    /// Permitted lengths in bytes (section 5.1.1).
    package static let lengths = 1...70

    package let bytes: [UInt8]

    /// - Returns: nil for an empty or too long text, for bytes that the RFC forbids, and for a space at the end.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard Self.lengths.contains(bytes.count), bytes.allSatisfy(Self.isBoundary), bytes.last != 0x20 else {
            return nil
        }
        self.bytes = bytes
    }

    /// Reads the boundary of a `multipart/form-data` type.
    ///
    /// - Throws: 415 for another type, 400 for a missing or invalid boundary.
    package init(_ type: MediaType) throws(HTTPFault) {
        guard type.essence == "multipart/form-data" else {
            throw HTTPFault(415, "The content is not multipart/form-data.")
        }
        guard let text = type["boundary"], let boundary = Self(text) else {
            throw HTTPFault(400, "The content type has no boundary of 1 to 70 characters that RFC 2046 allows.")
        }
        self = boundary
    }

    private static func isBoundary(_ byte: UInt8) -> Bool {
        FieldSyntax.isLetter(byte) || HTTPCharacter.isDigit(byte) || "'()+_,-./:=? ".utf8.contains(byte)
    }
}
