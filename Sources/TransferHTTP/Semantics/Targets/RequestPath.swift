internal import TransferModel

/// Path and query of a request target in origin-form (RFC 9112, section 3.2.1; RFC 3986). The path is decoded once, and
/// a text that servers could decode to different paths is refused.
package struct RequestPath: Equatable, Sendable {
    /// Decoded names from the top down: UTF-8 without NUL, `/` and `\`. No name is empty, `.` or `..`. The list is
    /// empty for `/` itself.
    package let segments: [String]

    /// Whether the path ends in `/`, so that the request concerns a folder.
    package let endsInSlash: Bool

    package let query: RequestQuery

    /// The names with `/` between them; empty for the top.
    package var path: String { segments.joined(separator: "/") }

    /// - Parameter target: the target of the request.
    /// - Throws: 400 with the reason; 414 if the decoded path has more than `Limits.path` bytes.
    package init(_ target: some Collection<UInt8>) throws(HTTPFault) {
        var reader = FieldReader(target)
        let path = reader.take { $0 != UInt8(ascii: "?") }
        guard path.first == UInt8(ascii: "/") else { throw HTTPFault(400, "The path does not begin with '/'.") }
        guard path.allSatisfy(Self.isPath) else {
            throw HTTPFault(400, "The path has a character that has to be percent-encoded.")
        }
        var parts = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let endsInSlash = parts.last?.isEmpty ?? true
        if endsInSlash { parts = parts.dropLast() }
        var (segments, length): ([String], Int) = ([], 0)
        for part in parts {
            let segment = try Self.segment(part)
            length += segment.utf8.count + 1
            guard length - 1 <= Limits.path else {
                throw HTTPFault(414, "The path has more than \(Limits.path) bytes.")
            }
            segments.append(segment)
        }
        self.segments = segments
        self.endsInSlash = endsInSlash
        query = try reader.take("?") ? RequestQuery(reader.rest) : RequestQuery()
    }

    private static func segment(_ part: ArraySlice<UInt8>) throws(HTTPFault) -> String {
        guard !part.isEmpty else { throw HTTPFault(400, "The path has an empty segment.") }
        guard part.contains(UInt8(ascii: "%")) else {
            // `isPath` permits only visible ASCII without the characters that are checked below.
            guard !isDots(part) else { throw dots }
            return String(decoding: part, as: UTF8.self)
        }
        guard let bytes = PercentEncoding.decoded(part) else {
            throw HTTPFault(400, "The path has a percent sign that two hexadecimal digits do not follow.")
        }
        guard !bytes.contains(0) else { throw HTTPFault(400, "The path has a NUL byte.") }
        guard !bytes.contains(UInt8(ascii: "/")), !bytes.contains(UInt8(ascii: "\\")) else {
            throw HTTPFault(400, "A segment of the path contains an encoded slash or a backslash.")
        }
        guard !isDots(bytes) else { throw dots }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw HTTPFault(400, "The path is not UTF-8.")
        }
        return text
    }

    private static func isDots(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.elementsEqual(".".utf8) || bytes.elementsEqual("..".utf8)
    }

    private static let dots = HTTPFault(400, "The path has a segment '.' or '..'.")

    /// Accepts pchar (RFC 3986, section 3.3) and characters that browsers do not encode and that have no other meaning:
    /// `[]^{|}` and a backtick (WHATWG URL, path percent-encode set).
    private static func isPath(_ byte: UInt8) -> Bool {
        0x21..<0x7F ~= byte && !"\"#<>\\".utf8.contains(byte)
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.endsInSlash == b.endsInSlash && a.query == b.query
            && a.segments.elementsEqual(b.segments) { $0.hasSameBytes(as: $1) }
    }
}
