/// Goes through a text byte by byte and knows where it is.
struct TOMLScanner {
    private let bytes: [UInt8]
    private var index = 0
    private var lineStart = 0

    /// From 1.
    private(set) var line = 1

    /// - Throws: for what is not UTF-8, and for control characters that no document has (TOML 1.0, Comment and String).
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

    /// The next byte; nothing at the end.
    var peek: UInt8? { peek(0) }

    func peek(_ distance: Int) -> UInt8? { index + distance < bytes.count ? bytes[index + distance] : nil }

    /// Whether the text goes on like that.
    func isAt(_ text: StaticString) -> Bool {
        text.withUTF8Buffer { bytes[index...].starts(with: $0) }
    }

    /// Goes past the next byte, which must be there.
    mutating func take() {
        if bytes[index] == UInt8(ascii: "\n") {
            line += 1
            lineStart = index + 1
        }
        index += 1
    }

    /// Goes past the next byte if it is that one.
    mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        take()
        return true
    }

    /// Takes bytes of one line.
    mutating func take(while condition: (UInt8) -> Bool) -> ArraySlice<UInt8> {
        let start = index
        while let byte = peek, byte != UInt8(ascii: "\n"), condition(byte) { take() }
        return bytes[start..<index]
    }

    mutating func skipBlanks() {
        _ = take { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    /// Goes past blanks, comments and ends of lines.
    mutating func skipLines() {
        repeat {
            skipBlanks()
            skipComment()
        } while takeLineEnd()
    }

    mutating func skipComment() {
        if peek == UInt8(ascii: "#") { _ = take { $0 != UInt8(ascii: "\r") } }
    }

    /// - Returns: false where the line goes on, or the text ends.
    mutating func takeLineEnd() -> Bool {
        if peek == UInt8(ascii: "\r") { take() }
        return take(UInt8(ascii: "\n"))
    }

    /// A fault at the next byte.
    func fault(_ message: String) -> TOMLFault {
        // Bytes that continue a scalar begin with the bits 10.
        let column = bytes[lineStart..<index].count { $0 & 0xC0 != 0x80 } + 1
        return TOMLFault(message: message, line: line, column: column)
    }
}
