/// Reads a field's value from its beginning.
struct FieldReader {
    private(set) var rest: ArraySlice<UInt8>

    init(_ bytes: some Sequence<UInt8>) {
        rest = Array(bytes)[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: sign) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func takeText(_ text: StaticString) -> Bool {
        let isThere = text.withUTF8Buffer { rest.starts(with: $0) }
        if isThere { rest = rest.dropFirst(text.utf8CodeUnitCount) }
        return isThere
    }

    mutating func skipBlanks() { rest = rest.drop(while: HTTPCharacter.isBlank) }

    mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let taken = rest.prefix(while: isWanted)
        rest = rest.dropFirst(taken.count)
        return taken
    }

    /// Takes exactly `count` bytes, or none if there are fewer.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func token() -> ArraySlice<UInt8>? {
        let token = take(while: HTTPCharacter.isToken)
        return token.isEmpty ? nil : token
    }

    /// Takes a quoted string and removes its escapes (RFC 9110, section 5.6.4).
    ///
    /// - Returns: nil if it does not end, or contains a control character.
    mutating func quotedString() -> [UInt8]? {
        guard take("\"") else { return nil }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), Self.isText(escaped) else { return nil }
                text.append(escaped)
            default:
                guard Self.isText(byte) else { return nil }
                text.append(byte)
            }
        }
        return nil
    }

    mutating func tokenOrQuotedString() -> [UInt8]? {
        rest.first == UInt8(ascii: "\"") ? quotedString() : token().map { Array($0) }
    }

    private static func isText(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7F }

    /// The members of a comma-separated list (section 5.6.1), without the blanks around them and without empty members.
    /// Commas inside quotes do not separate members.
    ///
    /// - Returns: nil if a quoted string does not end.
    static func members(_ value: [UInt8]) -> [ArraySlice<UInt8>]? {
        var members: [ArraySlice<UInt8>] = []
        var (start, isQuoted, isEscaped) = (0, false, false)
        for (index, byte) in value.enumerated() {
            switch byte {
            case _ where isEscaped: isEscaped = false
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case UInt8(ascii: ",") where !isQuoted:
                members.append(FieldSyntax.trimmed(value[start..<index]))
                start = index + 1
            default: break
            }
        }
        guard !isQuoted else { return nil }
        members.append(FieldSyntax.trimmed(value[start...]))
        return members.filter { !$0.isEmpty }
    }
}
