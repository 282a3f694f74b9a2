/// The first line of an answer: `HTTP-version SP status-code SP [ reason-phrase ]` (RFC 9112, section 4). If there is
/// no phrase, the last space may be missing: some servers leave it out, and that is not ambiguous.
struct StatusLine: FirstLine {
    static let emptyLines = 0

    let version: HTTPVersion
    let status: Int
    let reason: String?

    let size: Int

    init(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
        size = line.count + 2
        guard let space = line.firstIndex(of: HTTPCharacter.space) else { throw Self.malformed }
        version = try HTTPVersion(UnsafeRawBufferPointer(rebasing: line[..<space]))
        let digits = line[(space + 1)...].prefix(3)
        let rest = line[digits.endIndex...]
        guard digits.count == 3, digits.allSatisfy(HTTPCharacter.isDigit),
            rest.isEmpty || rest.first == HTTPCharacter.space, rest.allSatisfy(HTTPCharacter.isValue)
        else { throw Self.malformed }
        status = digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard (100...599).contains(status) else { throw Self.malformed }
        let phrase = HTTPCharacter.trimmed(UnsafeRawBufferPointer(rebasing: rest))
        reason = phrase.isEmpty ? nil : String(decoding: phrase, as: UTF8.self)
    }

    static func fault(longLine line: UnsafeRawBufferPointer) -> HTTPFault {
        HTTPFault(502, "The first line has more than \(HTTPLimits.firstLine) bytes.")
    }

    private static let malformed = HTTPFault(502, "The first line is not a version, a status and a phrase.")
}
