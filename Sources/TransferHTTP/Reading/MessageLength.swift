/// The length of content that the fields of a message declare (RFC 9112, section 6); ambiguous fields are refused.
/// Request smuggling exploits servers that disagree about where a message ends.
enum MessageLength: Equatable {
    case undeclared
    case length(UInt64)
    case chunked

    /// - Throws: 400, 413 or 501; it never guesses.
    init(_ fields: HTTPFields, _ version: HTTPVersion) throws(HTTPFault) {
        let lengths = fields.values("content-length")
        guard !fields.has("transfer-encoding") else {
            guard lengths.isEmpty else {
                throw HTTPFault(400, "There are both a Content-Length and a Transfer-Encoding.")
            }
            try Self.checkChunked(fields, version)
            self = .chunked
            return
        }
        guard let value = lengths.first else {
            self = .undeclared
            return
        }
        guard lengths.count == 1 else { throw HTTPFault(400, "There are two Content-Lengths.") }
        self = .length(try Self.length(value))
    }

    /// Accepts only digits. Leading zeros are refused, because some readers take such numbers as octal.
    private static func length(_ value: [UInt8]) throws(HTTPFault) -> UInt64 {
        guard let first = value.first, value.allSatisfy(HTTPCharacter.isDigit),
            first != UInt8(ascii: "0") || value.count == 1
        else { throw HTTPFault(400, "A Content-Length is not a plain number.") }
        guard value.count <= HTTPLimits.lengthDigits else { throw tooLong }
        // 19 digits are less than 2^64.
        let length = value.reduce(UInt64(0)) { $0 * 10 + UInt64($1 - UInt8(ascii: "0")) }
        guard length <= HTTPLimits.length else { throw tooLong }
        return length
    }

    private static let tooLong = HTTPFault(413, "A Content-Length is more than \(HTTPLimits.length).")

    private static func checkChunked(_ fields: HTTPFields, _ version: HTTPVersion) throws(HTTPFault) {
        guard version == .http11 else { throw HTTPFault(400, "HTTP/1.0 has no Transfer-Encoding.") }
        let values = fields.values("transfer-encoding")
        if values.count == 1, HTTPCharacter.areSame(values[0], "chunked") { return }
        if let last = fields.list("transfer-encoding").last, HTTPCharacter.isToken(last.utf8),
            !HTTPCharacter.areSame(last.utf8, "chunked")
        {
            throw HTTPFault(501, "The last Transfer-Encoding is not supported.")
        }
        throw HTTPFault(400, "Transfer-Encoding may only be chunked.")
    }
}
