/// Classes of bytes in structured fields (RFC 9651, sections 3.1.2 and 3.3).
enum StructuredSyntax {
    /// The largest magnitude of an integer, which has 15 digits (section 3.3.1), and of a decimal in thousandths, where
    /// three of these 15 digits are after the point (section 3.3.2).
    static let largest: Int64 = 999_999_999_999_999

    /// Most digits of an integer.
    static let integerDigits = 15

    /// Most digits of a decimal before the point.
    static let wholeDigits = 12

    /// Most digits of a decimal after the point.
    static let fractionDigits = 3

    static func isKeyStart(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte == UInt8(ascii: "*")
    }

    static func isKey(_ byte: UInt8) -> Bool {
        isKeyStart(byte) || HTTPCharacter.isDigit(byte) || "_-.".utf8.contains(byte)
    }

    static func isTokenStart(_ byte: UInt8) -> Bool { FieldSyntax.isLetter(byte) || byte == UInt8(ascii: "*") }

    static func isToken(_ byte: UInt8) -> Bool {
        HTTPCharacter.isToken(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/")
    }

    /// Bytes of strings, and of encoded display strings.
    static func isPrintable(_ byte: UInt8) -> Bool { 0x20..<0x7F ~= byte }
}
