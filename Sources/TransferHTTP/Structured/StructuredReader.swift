/// Reads one line of a structured field (RFC 9651, section 4.2). A string cannot continue on the next line: section 4.2
/// leaves such strings undefined.
struct StructuredReader {
    /// The text is not a structured field.
    struct Fault: Error {}

    private let bytes: [UInt8]
    private var place = 0

    /// - Returns: nil for text outside ASCII.
    init?(_ bytes: [UInt8]) {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        self.bytes = bytes
    }

    // MARK: Bytes

    var isAtEnd: Bool { place == bytes.count }

    var next: UInt8? { place < bytes.count ? bytes[place] : nil }

    mutating func take() throws(Fault) -> UInt8 {
        guard let byte = next else { throw Fault() }
        place += 1
        return byte
    }

    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: sign) else { return false }
        place += 1
        return true
    }

    mutating func require(_ sign: Unicode.Scalar) throws(Fault) {
        guard take(sign) else { throw Fault() }
    }

    mutating func take(while isWanted: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = place
        while place < bytes.count, isWanted(bytes[place]) { place += 1 }
        return bytes[start..<place]
    }

    private mutating func skipSpaces() { _ = take { $0 == 0x20 } }

    private mutating func skipWhitespace() { _ = take { $0 == 0x20 || $0 == 0x09 } }

    // MARK: Structure

    /// Reads a value that takes the whole line, except for spaces around it.
    mutating func whole<Value>(
        _ read: (inout StructuredReader) throws(Fault) -> Value
    ) throws(Fault) -> Value {
        skipSpaces()
        let value = try read(&self)
        skipSpaces()
        guard isAtEnd else { throw Fault() }
        return value
    }

    mutating func list() throws(Fault) -> [StructuredMember] {
        var members: [StructuredMember] = []
        while !isAtEnd {
            guard members.count < StructuredField.mostMembers else { throw Fault() }
            members.append(try member())
            try separator()
        }
        return members
    }

    mutating func dictionary() throws(Fault) -> StructuredDictionary {
        var members = StructuredDictionary()
        while !isAtEnd {
            let key = try key()
            let value: StructuredMember =
                take("=") ? try member() : .item(StructuredItem(.boolean(true), try parameters()))
            members.set(key, value)
            guard members.entries.count <= StructuredField.mostMembers else { throw Fault() }
            try separator()
        }
        return members
    }

    /// Reads a comma after which the line continues, or the end of the line.
    private mutating func separator() throws(Fault) {
        skipWhitespace()
        guard !isAtEnd else { return }
        try require(",")
        skipWhitespace()
        guard !isAtEnd else { throw Fault() }
    }

    private mutating func member() throws(Fault) -> StructuredMember {
        next == UInt8(ascii: "(") ? try innerList() : .item(try item())
    }

    private mutating func innerList() throws(Fault) -> StructuredMember {
        try require("(")
        var items: [StructuredItem] = []
        while true {
            skipSpaces()
            if take(")") { return .innerList(items, try parameters()) }
            guard items.count < StructuredField.mostMembers else { throw Fault() }
            items.append(try item())
            guard next == 0x20 || next == UInt8(ascii: ")") else { throw Fault() }
        }
    }

    mutating func item() throws(Fault) -> StructuredItem {
        StructuredItem(try bareItem(), try parameters())
    }

    private mutating func parameters() throws(Fault) -> StructuredParameters {
        var parameters = StructuredParameters()
        while take(";") {
            skipSpaces()
            let key = try key()
            parameters.set(key, take("=") ? try bareItem() : .boolean(true))
            guard parameters.entries.count <= StructuredField.mostMembers else { throw Fault() }
        }
        return parameters
    }

    private mutating func key() throws(Fault) -> String {
        guard let first = next, StructuredSyntax.isKeyStart(first) else { throw Fault() }
        return String(decoding: take(while: StructuredSyntax.isKey), as: UTF8.self)
    }
}
