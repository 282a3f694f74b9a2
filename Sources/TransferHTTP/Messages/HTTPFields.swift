/// Fields in order. Names may be requested in any case.
package struct HTTPFields: Equatable, Sendable {
    /// The fields, one for each line.
    package private(set) var lines: [HTTPField]

    package init(_ fields: [HTTPField] = []) {
        lines = fields
    }

    package mutating func append(_ field: HTTPField) {
        lines.append(field)
    }

    /// Adds a line at the end. The line is checked when it is written.
    package mutating func append(_ name: String, _ value: String) {
        lines.append(HTTPField(name: name, value: Array(value.utf8)))
    }

    package func has(_ name: String) -> Bool { lines.contains { $0.isNamed(name) } }

    /// The values of a field, one for each line.
    package func values(_ name: String) -> [[UInt8]] { lines.filter { $0.isNamed(name) }.map(\.value) }

    /// The value of a field that may occur once.
    ///
    /// - Returns: nil if the field is missing.
    /// - Throws: 400 if the field occurs twice or is not ASCII.
    package func only(_ name: String) throws(HTTPFault) -> String? {
        let values = values(name)
        guard let value = values.first else { return nil }
        guard values.count == 1 else { throw HTTPFault(400, "A field is given twice that may be given only once.") }
        guard value.allSatisfy({ $0 < 0x80 }) else { throw HTTPFault(400, "A field has bytes that are not ASCII.") }
        return String(decoding: value, as: UTF8.self)
    }

    /// The members of a comma-separated list over all lines (RFC 9110, section 5.6.1), without the blanks around them
    /// and without empty members. Quoted strings keep their quotes. A string without a closing quote extends to the end
    /// of the line. A member that is not UTF-8 stays in the list: U+FFFD replaces its invalid bytes.
    package func list(_ name: String) -> [String] {
        values(name).flatMap { value in
            Self.members(value).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    private static func members(_ value: [UInt8]) -> [ArraySlice<UInt8>] {
        var members: [ArraySlice<UInt8>] = []
        var (start, index, isQuoted) = (0, 0, false)
        while index < value.count {
            switch value[index] {
            case HTTPCharacter.quote: isQuoted.toggle()
            case HTTPCharacter.backslash where isQuoted: index += 1
            case UInt8(ascii: ",") where !isQuoted:
                members.append(value[start..<index])
                start = index + 1
            default: break
            }
            index += 1
        }
        members.append(value[start...])
        return members.map(trimmed).filter { !$0.isEmpty }
    }

    private static func trimmed(_ member: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = member.firstIndex(where: { !HTTPCharacter.isBlank($0) }),
            let last = member.lastIndex(where: { !HTTPCharacter.isBlank($0) })
        else { return [] }
        return member[first...last]
    }
}

extension HTTPFields {
    /// Whether the connection stays open after the message (RFC 9112, section 9.3).
    func isPersistent(_ version: HTTPVersion) -> Bool {
        let options = list("connection")
        if options.contains(where: { HTTPCharacter.areSame($0.utf8, "close") }) { return false }
        switch version {
        case .http11: return true
        case .http10: return options.contains { HTTPCharacter.areSame($0.utf8, "keep-alive") }
        }
    }
}
