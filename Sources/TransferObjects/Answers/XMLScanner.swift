/// Scans the XML of an object engine for the text of elements (XML 1.0, fifth edition). Answers consist of nested
/// elements with text; attributes and namespaces carry nothing that is needed. It has no document types, so no
/// entities but the five predefined ones, and never asks for another resource.
package struct XMLScanner {
    /// Most levels of elements. Answers of S3 have four.
    package static let deepest = 16

    /// Most bytes of an element's name. The longest one of S3 that is read here has 21.
    static let longestName = 128

    /// Most bytes of one text: a key of 1,024 bytes that is percent-encoded has 3,072.
    package static let longestText = 8 << 10

    /// What was found. A path has the names of all open elements from the root down.
    package enum Event: Equatable {
        /// An element without other elements in it, at its end, with its text.
        case leaf(path: [String], text: String)
        /// The end of an element that has others in it.
        case end(path: [String])
    }

    /// The reason why a text is not XML of this kind, as a phrase.
    package struct Fault: Error, Equatable {
        package let message: String

        init(_ message: String) { self.message = message }
    }

    private let bytes: [UInt8]
    private var offset = 0
    private var path: [String] = []
    /// Text of the innermost open element.
    private var text: [UInt8] = []
    /// Whether the innermost open element has no other element in it yet.
    private var isLeaf = false
    private var hasRoot = false

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads a whole document.
    ///
    /// - Parameter found: is called for each event in the order of the text.
    package static func read(_ bytes: [UInt8], _ found: (Event) throws(Fault) -> Void) throws(Fault) {
        var scanner = XMLScanner(bytes)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { scanner.offset = 3 }
        while scanner.offset < bytes.count { try scanner.step(found) }
        guard scanner.path.isEmpty, scanner.hasRoot else { throw Fault("it ends too early") }
    }

    private mutating func step(_ found: (Event) throws(Fault) -> Void) throws(Fault) {
        guard isNext("<") else { return try takeText() }
        if isNext("<!--") {
            try skip(behind: "-->")
        } else if isNext("<![CDATA[") {
            try takeRaw()
        } else if isNext("<?") {
            try skip(behind: "?>")
        } else if isNext("<!") {
            throw Fault("it has a document type")
        } else if isNext("</") {
            try close(found)
        } else {
            try open(found)
        }
    }

    private func isNext(_ sign: StaticString) -> Bool {
        sign.withUTF8Buffer { sign in bytes[offset...].prefix(sign.count).elementsEqual(sign) }
    }

    /// Moves behind the next occurrence of a text.
    ///
    /// - Returns: the position of that text.
    @discardableResult
    private mutating func skip(behind end: StaticString) throws(Fault) -> Int {
        while offset < bytes.count {
            if isNext(end) {
                defer { offset += end.utf8CodeUnitCount }
                return offset
            }
            offset += 1
        }
        throw Fault("it ends too early")
    }

    // MARK: Elements

    private mutating func open(_ found: (Event) throws(Fault) -> Void) throws(Fault) {
        offset += 1
        let name = try name()
        guard !path.isEmpty || !hasRoot else { throw Fault("it has two roots") }
        guard path.count < Self.deepest else { throw Fault("it is nested too deeply") }
        hasRoot = true
        isLeaf = true
        path.append(name)
        text = []
        if try skipAttributes() { try finish(found) }
    }

    /// Skips attributes, whose values may contain any character but their quotes.
    ///
    /// - Returns: whether the element is empty, as in `<a/>`.
    private mutating func skipAttributes() throws(Fault) -> Bool {
        while offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            switch byte {
            case UInt8(ascii: ">"): return false
            case UInt8(ascii: "/") where isNext(">"):
                offset += 1
                return true
            case UInt8(ascii: "\""): try skip(behind: "\"")
            case UInt8(ascii: "'"): try skip(behind: "'")
            case UInt8(ascii: "<"): throw Fault("a tag begins in a tag")
            default: continue
            }
        }
        throw Fault("it ends too early")
    }

    private mutating func close(_ found: (Event) throws(Fault) -> Void) throws(Fault) {
        offset += 2
        let name = try name()
        guard path.last == name else { throw Fault("an element is closed that is not open") }
        while offset < bytes.count, Self.isBlank(bytes[offset]) { offset += 1 }
        guard isNext(">") else { throw Fault("a closing tag has no end") }
        offset += 1
        try finish(found)
    }

    private mutating func finish(_ found: (Event) throws(Fault) -> Void) throws(Fault) {
        if isLeaf {
            guard let text = String(validating: text, as: UTF8.self) else { throw Fault("it is not UTF-8") }
            try found(.leaf(path: path, text: text))
        } else {
            try found(.end(path: path))
        }
        path.removeLast()
        text = []
        isLeaf = false
    }

    /// Reads a name, without the prefix of a namespace.
    private mutating func name() throws(Fault) -> String {
        let end = bytes[offset...].prefix(Self.longestName + 1).prefix {
            !Self.isBlank($0) && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "<")
        }
        offset = end.endIndex
        let local = end.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).last ?? []
        guard !local.isEmpty, end.count <= Self.longestName, let name = String(validating: local, as: UTF8.self)
        else { throw Fault("an element has no valid name") }
        return name
    }

    // MARK: Text

    private mutating func takeText() throws(Fault) {
        while offset < bytes.count, bytes[offset] != UInt8(ascii: "<") {
            if bytes[offset] == UInt8(ascii: "&") {
                try append(try entity())
            } else {
                try append([bytes[offset]])
                offset += 1
            }
        }
    }

    /// Takes the text of a CDATA section as it is.
    private mutating func takeRaw() throws(Fault) {
        guard isLeaf else { throw Fault("text is outside of the elements") }
        offset += "<![CDATA[".utf8.count
        let start = offset
        let end = try skip(behind: "]]>")
        try append(bytes[start..<end])
    }

    private mutating func append(_ more: some Collection<UInt8>) throws(Fault) {
        guard isLeaf else {
            // Between elements there is only white space.
            guard more.allSatisfy(Self.isBlank) else { throw Fault("text is outside of the elements") }
            return
        }
        guard text.count + more.count <= Self.longestText else { throw Fault("a text is too long") }
        text += more
    }

    /// Reads a reference to a character or to a predefined entity (section 4.1).
    private mutating func entity() throws(Fault) -> [UInt8] {
        // The longest one is `&#x10FFFF;`.
        let reference = bytes[offset...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
        let end = reference.endIndex
        guard end < bytes.count, bytes[end] == UInt8(ascii: ";") else { throw Fault("a reference has no end") }
        offset = end + 1
        let name = String(decoding: reference.dropFirst(), as: UTF8.self)
        switch name {
        case "lt": return [UInt8(ascii: "<")]
        case "gt": return [UInt8(ascii: ">")]
        case "amp": return [UInt8(ascii: "&")]
        case "quot": return [UInt8(ascii: "\"")]
        case "apos": return [UInt8(ascii: "'")]
        default: break
        }
        let isHexadecimal = name.utf8.starts(with: "#x".utf8)
        guard name.utf8.first == UInt8(ascii: "#"),
            let number = UInt32(Substring(name.utf8.dropFirst(isHexadecimal ? 2 : 1)), radix: isHexadecimal ? 16 : 10),
            number > 0, let scalar = Unicode.Scalar(number)
        else { throw Fault("a reference is unknown") }
        return Array(String(Character(scalar)).utf8)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
}
