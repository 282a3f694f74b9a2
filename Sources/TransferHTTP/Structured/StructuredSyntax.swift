/// Which bytes stand where (RFC 9651, sections 3.1.2 and 3.3).
enum StructuredSyntax {
    /// The largest magnitude of an integer: 15 digits (section 3.3.1); with three of them behind the point, also of a
    /// decimal in thousandths (section 3.3.2).
    static let largest: Int64 = 999_999_999_999_999

    /// Digits of an integer.
    static let integerDigits = 15

    /// Digits of a decimal in front of its point.
    static let wholeDigits = 12

    /// Digits of a decimal behind its point.
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

    /// Of strings, and of display strings as they travel.
    static func isPrintable(_ byte: UInt8) -> Bool { 0x20..<0x7F ~= byte }
}
