/// The versions of HTTP/1 that are supported.
package enum HTTPVersion: Equatable, Sendable {
    case http10
    case http11

    /// The text in the first line (RFC 9112, section 2.3).
    package var text: StaticString {
        switch self {
        case .http10: "HTTP/1.0"
        case .http11: "HTTP/1.1"
        }
    }

    /// - Throws: 505 for another version, 400 for any other text.
    init(_ text: UnsafeRawBufferPointer) throws(HTTPFault) {
        guard text.count == 8, text.prefix(5).elementsEqual("HTTP/".utf8), HTTPCharacter.isDigit(text[5]),
            text[6] == UInt8(ascii: "."), HTTPCharacter.isDigit(text[7])
        else { throw HTTPFault(400, "The first line has no HTTP version.") }
        switch (text[5], text[7]) {
        case (UInt8(ascii: "1"), UInt8(ascii: "0")): self = .http10
        case (UInt8(ascii: "1"), UInt8(ascii: "1")): self = .http11
        default: throw HTTPFault(505, "This server supports only HTTP/1.0 and HTTP/1.1.")
        }
    }
}
