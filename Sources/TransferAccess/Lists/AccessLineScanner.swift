/// Splits a line of an access list, byte by byte.
struct AccessLineScanner {
    private var rest: Substring.UTF8View

    init(_ line: String) {
        rest = Substring(line).utf8
        skipBlanks()
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    private mutating func skipBlanks() {
        rest = rest.drop(while: Self.isBlank)
    }

    /// Returns the next word without taking it; empty at the end.
    func peekWord() -> String { String(Substring(rest.prefix { !Self.isBlank($0) })) }

    /// Takes the next word and the blanks after it.
    mutating func word() -> String {
        let word = rest.prefix { !Self.isBlank($0) }
        rest = rest[word.endIndex...]
        skipBlanks()
        return String(Substring(word))
    }

    /// Takes the rest of the line without the blanks at its end.
    mutating func remainder() -> String {
        defer { rest = rest[rest.endIndex...] }
        guard let last = rest.lastIndex(where: { !Self.isBlank($0) }) else { return "" }
        return String(Substring(rest[...last]))
    }

    /// Takes options up to the next blank outside quotes: `name`, `name=value` or `name="value"`, separated by commas.
    /// Inside quotes, a backslash escapes a quote or a backslash.
    ///
    /// - Throws: a phrase about the fault.
    mutating func options() throws(AccessFault) -> [(name: String, value: String?)] {
        var options: [(name: String, value: String?)] = []
        while true {
            let name = rest.prefix { $0 == UInt8(ascii: "-") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
            guard !name.isEmpty else { throw AccessFault("an option or a kind of entry is missing") }
            rest = rest[name.endIndex...]
            options.append((String(Substring(name)), try value()))
            guard rest.first == UInt8(ascii: ",") else { break }
            rest = rest.dropFirst()
        }
        guard rest.first.map(Self.isBlank) ?? true else {
            throw AccessFault("'\(options.last?.name ?? "")' is followed by text that is not an option")
        }
        skipBlanks()
        return options
    }

    /// - Returns: nil if the option has no value.
    private mutating func value() throws(AccessFault) -> String? {
        guard rest.first == UInt8(ascii: "=") else { return nil }
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "\"") { return try quoted() }
        let value = rest.prefix { !Self.isBlank($0) && ![UInt8(ascii: ","), 0x22, 0x5C].contains($0) }
        rest = rest[value.endIndex...]
        return String(Substring(value))
    }

    private mutating func quoted() throws(AccessFault) -> String {
        var bytes: [UInt8] = []
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let next = rest.popFirst(), next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\") else {
                    throw AccessFault("a backslash in quotes must be followed by a quote or a backslash")
                }
                bytes.append(next)
            default: bytes.append(byte)
            }
        }
        throw AccessFault("a quote is not closed")
    }
}
