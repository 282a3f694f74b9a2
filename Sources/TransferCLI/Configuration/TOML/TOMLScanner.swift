/// Scans a text byte by byte, and tracks line and column.
struct TOMLScanner {
    private let bytes: [UInt8]
    private var index = 0
    private var lineStart = 0

    /// The current line, from 1.
    private(set) var line = 1

    /// - Throws: `TOMLFault` for invalid UTF-8, and for control characters that TOML forbids (TOML 1.0, Comment and
    ///   String).
    init(_ bytes: [UInt8]) throws(TOMLFault) {
        self.bytes = bytes
        while let byte = peek {
            guard isAllowed(byte) else { throw fault("there is a control character") }
            take()
        }
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw TOMLFault(message: "the text is not UTF-8", line: 1, column: 1)
        }
        (index, lineStart, line) = (0, 0, 1)
    }

    private func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\t"), UInt8(ascii: "\n"): true
        case UInt8(ascii: "\r"): peek(1) == UInt8(ascii: "\n")
        default: byte >= 0x20 && byte != 0x7F
        }
    }

    /// The next byte; nil at the end.
    var peek: UInt8? { peek(0) }

    func peek(_ distance: Int) -> UInt8? { index + distance < bytes.count ? bytes[index + distance] : nil }

    /// Whether the rest of the text begins with `text`.
    func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[index...].starts(with: $0) }
    }

    /// Skips the next byte, which must exist.
    mutating func take() {
        if bytes[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        index += 1
    }

    /// Skips the next byte if it is `byte`.
    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        take()
        return true
    }

    /// Takes bytes up to the end of the line while the condition holds.
    mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let byte = peek, byte != UInt8(ascii: "\n"), condition(byte) { take() }
        return bytes[start..<index]
    }

    mutating func skipBlanks() {
        _ = take { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Skips blanks, comments and ends of lines.
    mutating func skipLines() {
        repeat {
            skipBlanks()
            skipComment()
        } while takeLineEnd()
    }

    mutating func skipComment() {
        if peek == UInt8(ascii: "#") { _ = take { $0 != UInt8(ascii: "\r") } }
    }

    /// - Returns: false if the line continues, or the text ends.
    mutating func takeLineEnd() -> Bool {
        if peek == UInt8(ascii: "\r") { take() }
        return take(UInt8(ascii: "\n"))
    }

    /// A fault at the position of the next byte.
    func fault(_ message: String) -> TOMLFault {
        // Scalars are counted by leaving out continuation bytes, which begin with the bits 10.
        let column = bytes[lineStart..<index].count { $0 & 0xC0 != 0x80 } + 1
        return TOMLFault(message: message, line: line, column: column)
    }
}
