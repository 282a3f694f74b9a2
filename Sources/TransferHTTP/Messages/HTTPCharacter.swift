/// Classes of bytes in heads. Text from a peer is compared byte by byte with these, never as Unicode.
package enum HTTPCharacter {
    static let tab = UInt8(ascii: "\t")
    static let lineFeed = UInt8(ascii: "\n")
    static let carriageReturn = UInt8(ascii: "\r")
    static let space = UInt8(ascii: " ")
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")

    /// `tchar` (RFC 9110, section 5.6.2).
    package static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"),
            UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"),
            UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Whether the text is a `token`: one or more `tchar`.
    package static func isToken(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty && text.allSatisfy { isToken($0) }
    }

    /// Bytes of a field value or reason phrase: tab, space, `VCHAR` and `obs-text` (RFC 9110, section 5.5).
    package static func isValue(_ byte: UInt8) -> Bool { byte == tab || (byte >= space && byte != 0x7F) }

    /// `VCHAR` (RFC 5234, appendix B.1).
    package static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    /// One byte of `OWS` (RFC 9110, section 5.6.3).
    package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// `DIGIT` (RFC 5234, appendix B.1).
    package static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

    /// The lower case of an ASCII letter; any other byte unchanged.
    package static func lowercase(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }

    /// Whether two texts are equal but for the case of ASCII letters.
    package static func areSame(_ text: some Collection<UInt8>, _ other: some StringProtocol) -> Bool {
        areSame(text, other.utf8)
    }

    /// The same for two sequences of bytes.
    package static func areSame(_ text: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        text.count == other.count && text.elementsEqual(other) { lowercase($0) == lowercase($1) }
    }

    /// The text without blanks around it.
    static func trimmed(_ text: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) })
        else { return UnsafeRawBufferPointer(rebasing: text[..<0]) }
        return UnsafeRawBufferPointer(rebasing: text[first...last])
    }
}
