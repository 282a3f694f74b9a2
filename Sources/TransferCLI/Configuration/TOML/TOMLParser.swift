private import TransferModel

/// Parses the lines of a document: headers, keys and values.
struct TOMLParser {
    /// The most keys in a header. The longest header in use has four.
    private static let mostParts = 8

    private var scanner: TOMLScanner
    private var tables = [TOMLDocument.Table(path: [], line: 0)]

    /// The lines of headers and keys, by their whole paths, and of tables that headers define implicitly.
    private var headers: [[String]: Int] = [:]
    private var keys: [[String]: Int] = [:]
    private var parents: Set<[String]> = []

    static func parse(_ bytes: [UInt8]) throws(TOMLFault) -> [TOMLDocument.Table] {
        var parser = TOMLParser(scanner: try TOMLScanner(bytes))
        parser.scanner.skipLines()
        while parser.scanner.peek != nil {
            try parser.parseLine()
            parser.scanner.skipLines()
        }
        return parser.tables
    }

    private init(scanner: TOMLScanner) {
        self.scanner = scanner
    }

    private mutating func parseLine() throws(TOMLFault) {
        if scanner.peek == UInt8(ascii: "[") {
            try parseHeader()
        } else {
            try parseEntry()
        }
        scanner.skipBlanks()
        scanner.skipComment()
        guard scanner.peek == nil || scanner.takeLineEnd() else {
            throw scanner.fault("there is something after the end of a header or value")
        }
    }

    private mutating func parseHeader() throws(TOMLFault) {
        let start = scanner
        guard !scanner.isAt("[[") else { throw scanner.fault("arrays of tables are not supported") }
        scanner.take()
        var path: [String] = []
        repeat {
            scanner.skipBlanks()
            guard path.count < Self.mostParts else { throw scanner.fault("a header has too many parts") }
            path.append(try parseKey())
            scanner.skipBlanks()
        } while scanner.take(UInt8(ascii: "."))
        guard scanner.take(UInt8(ascii: "]")) else { throw scanner.fault("a header is not closed by ']'") }
        try open(path, start)
    }

    private mutating func open(_ path: [String], _ start: TOMLScanner) throws(TOMLFault) {
        let name = path.map(\.escapedForDisplay).joined(separator: ".")
        if let line = headers[path] { throw start.fault("[\(name)] already exists in line \(line)") }
        for count in 1...path.count {
            let parent = Array(path.prefix(count))
            if let line = keys[parent] { throw start.fault("[\(name)] is below the value in line \(line)") }
            parents.insert(parent)
        }
        headers[path] = start.line
        tables.append(TOMLDocument.Table(path: path, line: start.line))
    }

    private mutating func parseEntry() throws(TOMLFault) {
        let start = scanner
        let key = try parseKey()
        scanner.skipBlanks()
        guard scanner.peek != UInt8(ascii: ".") else {
            throw scanner.fault("keys with dots are not supported; give the table a header")
        }
        guard scanner.take(UInt8(ascii: "=")) else { throw scanner.fault("'=' is missing") }
        scanner.skipBlanks()
        let value = try TOMLValueParser.parse(&scanner)
        let path = tables[tables.count - 1].path + [key]
        if let line = keys[path] {
            throw start.fault("'\(key.escapedForDisplay)' already exists in line \(line)")
        }
        guard !parents.contains(path) else {
            throw start.fault("'\(key.escapedForDisplay)' is a table already")
        }
        keys[path] = start.line
        tables[tables.count - 1].entries.append(
            TOMLDocument.Entry(key: key, value: value, line: start.line, lastLine: scanner.line))
    }

    private mutating func parseKey() throws(TOMLFault) -> String {
        switch scanner.peek {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return try TOMLValueParser.parseString(&scanner)
        default:
            let start = scanner
            let key = scanner.take(while: Self.isBare)
            guard !key.isEmpty else { throw start.fault("a key is missing") }
            return String(decoding: key, as: UTF8.self)
        }
    }

    /// Whether a byte is allowed in a bare key.
    static func isBare(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
