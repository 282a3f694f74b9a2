/// Reads one JSON value (RFC 8259) from another program.
///
/// Its memory is bounded by the text: it needs up to some dozens of bytes for each byte of the text, if the text is a
/// list of single digits.
package struct JSONReader {
    /// Most levels of arrays and objects. RFC 8259 leaves this limit to the reader.
    package static let deepest = 32

    private let bytes: [UInt8]
    private let deepest: Int
    private let allowsNUL: Bool
    private var valuesLeft: Int
    private var offset = 0
    private var depth = 0

    /// Reads a text that is one value.
    ///
    /// - Parameters:
    ///   - deepest: most levels of arrays and objects, which is the depth of the reader's recursion.
    ///   - allowsNUL: whether a string may contain U+0000, which ends strings in C programs.
    ///   - mostValues: most values, including arrays and objects, because many short values take far longer than one
    ///     long string.
    /// - Throws: `JSONFault` for a text that is not JSON or not UTF-8, is nested more deeply, has more values, or has a
    ///   member twice.
    package static func read(
        _ bytes: [UInt8], deepest: Int = JSONReader.deepest, allowsNUL: Bool = true, mostValues: Int = .max
    ) throws(JSONFault) -> JSONNode {
        var reader = JSONReader(bytes: bytes, deepest: deepest, allowsNUL: allowsNUL, mostValues: mostValues)
        reader.skipBlanks()
        let node = try reader.value()
        reader.skipBlanks()
        guard reader.offset == bytes.count else { throw reader.unexpected }
        return node
    }

    private init(bytes: [UInt8], deepest: Int, allowsNUL: Bool, mostValues: Int) {
        (self.bytes, self.deepest, self.allowsNUL) = (bytes, deepest, allowsNUL)
        valuesLeft = mostValues
    }

    private var next: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    private var unexpected: JSONFault {
        JSONFault(next == nil ? "it is not JSON: it ends too early" : "it is not JSON at character \(offset + 1)")
    }

    private mutating func skipBlanks() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { offset += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        offset += 1
        return true
    }

    private mutating func expect(_ text: StaticString) throws(JSONFault) {
        for byte in text.withUTF8Buffer({ Array($0) }) {
            guard take(byte) else { throw unexpected }
        }
    }

    private mutating func value() throws(JSONFault) -> JSONNode {
        guard valuesLeft > 0 else { throw JSONFault("it has too many values") }
        valuesLeft -= 1
        switch next {
        case UInt8(ascii: "{"): return try nested { (reader) throws(JSONFault) in try reader.object() }
        case UInt8(ascii: "["): return try nested { (reader) throws(JSONFault) in try reader.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"):
            try expect("true")
            return .bool(true)
        case UInt8(ascii: "f"):
            try expect("false")
            return .bool(false)
        case UInt8(ascii: "n"):
            try expect("null")
            return .null
        default: return .number(try number())
        }
    }

    private mutating func nested(
        _ body: (inout JSONReader) throws(JSONFault) -> JSONNode
    ) throws(JSONFault) -> JSONNode {
        guard depth < deepest else { throw JSONFault("it is nested too deeply") }
        depth += 1
        defer { depth -= 1 }
        offset += 1
        skipBlanks()
        return try body(&self)
    }

    private mutating func object() throws(JSONFault) -> JSONNode {
        var members: [(key: String, value: JSONNode)] = []
        var keys: Set<PathKey> = []
        while !take(UInt8(ascii: "}")) {
            if !members.isEmpty { try separator(",") }
            let key = try string()
            guard keys.insert(PathKey(key)).inserted else { throw JSONFault("a member is given twice") }
            skipBlanks()
            try separator(":")
            members.append((key, try value()))
            skipBlanks()
        }
        return .object(members)
    }

    private mutating func array() throws(JSONFault) -> JSONNode {
        var values: [JSONNode] = []
        while !take(UInt8(ascii: "]")) {
            if !values.isEmpty { try separator(",") }
            values.append(try value())
            skipBlanks()
        }
        return .array(values)
    }

    private mutating func separator(_ text: StaticString) throws(JSONFault) {
        try expect(text)
        skipBlanks()
    }

    /// Reads a number (section 6).
    private mutating func number() throws(JSONFault) -> String {
        let start = offset
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) { try digits() }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    private mutating func digits() throws(JSONFault) {
        let start = offset
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
        guard offset > start else { throw unexpected }
    }
}

// MARK: Strings

extension JSONReader {
    /// Reads a string with its quotes (section 7).
    private mutating func string() throws(JSONFault) -> String {
        guard take(UInt8(ascii: "\"")) else { throw unexpected }
        var text: [UInt8] = []
        while true {
            takePlain(into: &text)
            guard let byte = next, byte >= 0x20 else { throw unexpected }
            offset += 1
            guard byte != UInt8(ascii: "\"") else { break }
            try escape(into: &text)
        }
        guard let text = String(validating: text, as: UTF8.self) else { throw JSONFault("it is not UTF-8") }
        return text
    }

    /// Takes characters up to a quote, backslash or control character all at once, because content arrives in strings
    /// of 64 KiB.
    private mutating func takePlain(into text: inout [UInt8]) {
        let end = bytes.withUnsafeBufferPointer { bytes in
            var end = offset
            // 0x22 is a quote, 0x5C a backslash.
            while end < bytes.count, bytes[end] >= 0x20, bytes[end] != 0x22, bytes[end] != 0x5C { end += 1 }
            return end
        }
        text += bytes[offset..<end]
        offset = end
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONFault) {
        guard let byte = next else { throw unexpected }
        offset += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text += Array(String(Character(try scalar())).utf8)
        default:
            offset -= 1
            throw unexpected
        }
    }

    /// Reads the four digits of a code unit, or those of both code units of a surrogate pair.
    private mutating func scalar() throws(JSONFault) -> Unicode.Scalar {
        let first = try unit()
        guard first > 0 || allowsNUL else { throw JSONFault("it contains a NUL character") }
        if let scalar = Unicode.Scalar(first) { return scalar }
        try expect("\\u")
        let second = try unit()
        guard (0xD800...0xDBFF).contains(first), (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw JSONFault("it contains half of a surrogate pair") }
        return scalar
    }

    private mutating func unit() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Hexadecimal.value(of: byte) else { throw unexpected }
            offset += 1
            value = value << 4 | UInt32(digit)
        }
        return value
    }
}
