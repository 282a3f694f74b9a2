/// What parts of a multipart body are set apart by (RFC 2046, section 5.1.1).
package struct MultipartBoundary: Equatable, Sendable {
    /// Bytes of it (section 5.1.1).
    package static let lengths = 1...70

    package let bytes: [UInt8]

    /// - Returns: nothing for other bytes than the RFC has, for a space at the end, and for none or too many.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard Self.lengths.contains(bytes.count), bytes.allSatisfy(Self.isBoundary), bytes.last != 0x20 else {
            return nil
        }
        self.bytes = bytes
    }

    /// That of a `multipart/form-data`.
    ///
    /// - Throws: 415 for another type, 400 when it has no boundary.
    package init(_ type: MediaType) throws(HTTPFault) {
        guard type.essence == "multipart/form-data" else {
            throw HTTPFault(415, "The content is no multipart/form-data.")
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
