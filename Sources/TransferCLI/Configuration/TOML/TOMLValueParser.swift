private import TransferModel

/// Parses the value of a key.
enum TOMLValueParser {
    static func parse(_ scanner: inout TOMLScanner) throws(TOMLFault) -> TOMLValue {
        switch scanner.peek {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return .string(try parseString(&scanner))
        case UInt8(ascii: "["): return .strings(try parseArray(&scanner))
        case UInt8(ascii: "{"): throw scanner.fault("tables within a line are not supported; give the table a header")
        default: return try parseWord(&scanner)
        }
    }

    // MARK: Numbers and booleans

    private static func parseWord(_ scanner: inout TOMLScanner) throws(TOMLFault) -> TOMLValue {
        let start = scanner
        let word = scanner.take { TOMLParser.isBare($0) || "+.:".utf8.contains($0) }
        switch String(decoding: word, as: UTF8.self) {
        case "": throw start.fault("a value is missing; strings need quotes")
        case "true": return .boolean(true)
        case "false": return .boolean(false)
        default:
            guard isDecimal(word) else {
                throw start.fault("only whole decimal numbers, true and false need no quotes")
            }
            let digits = String(decoding: word.filter { $0 != UInt8(ascii: "_") }, as: UTF8.self)
            guard let number = Int64(digits) else { throw start.fault("a number is too large") }
            return .integer(number)
        }
    }

    /// Whether a word is a decimal integer (TOML 1.0, Integer): no leading zeros, underscores between digits only.
    private static func isDecimal(_ word: ArraySlice<UInt8>) -> Bool {
        let digits = word.first.map("+-".utf8.contains) ?? false ? word.dropFirst() : word
        let groups = digits.split(separator: UInt8(ascii: "_"), omittingEmptySubsequences: false)
        return groups.allSatisfy { !$0.isEmpty && $0.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains) }
            && (digits.first != UInt8(ascii: "0") || digits.count == 1)
    }

    // MARK: Arrays

    private static func parseArray(_ scanner: inout TOMLScanner) throws(TOMLFault) -> [String] {
        var strings: [String] = []
        scanner.take()
        scanner.skipLines()
        while !scanner.take(UInt8(ascii: "]")) {
            guard scanner.peek == UInt8(ascii: "\"") || scanner.peek == UInt8(ascii: "'") else {
                throw scanner.fault(
                    scanner.peek == nil ? "an array is not closed by ']'" : "arrays can contain only strings")
            }
            strings.append(try parseString(&scanner))
            scanner.skipLines()
            guard scanner.take(UInt8(ascii: ",")) || scanner.peek == UInt8(ascii: "]") else {
                throw scanner.fault("',' or ']' is missing")
            }
            scanner.skipLines()
        }
        return strings
    }

    // MARK: Strings

    /// - Parameter scanner: must be at a quote.
    static func parseString(_ scanner: inout TOMLScanner) throws(TOMLFault) -> String {
        guard !scanner.isAt("\"\"\""), !scanner.isAt("'''") else {
            throw scanner.fault("strings of several lines are not supported")
        }
        return scanner.peek == UInt8(ascii: "'") ? try parseLiteral(&scanner) : try parseBasic(&scanner)
    }

    private static func parseLiteral(_ scanner: inout TOMLScanner) throws(TOMLFault) -> String {
        scanner.take()
        let content = scanner.take { $0 != UInt8(ascii: "'") && $0 != UInt8(ascii: "\r") }
        guard scanner.take(UInt8(ascii: "'")) else { throw scanner.fault("a quote is not closed") }
        return String(decoding: content, as: UTF8.self)
    }

    private static func parseBasic(_ scanner: inout TOMLScanner) throws(TOMLFault) -> String {
        scanner.take()
        var content: [UInt8] = []
        while true {
            content += scanner.take { !"\"\\\r".utf8.contains($0) }
            if scanner.take(UInt8(ascii: "\"")) { return String(decoding: content, as: UTF8.self) }
            guard scanner.peek == UInt8(ascii: "\\") else { throw scanner.fault("a quote is not closed") }
            content += String(try parseEscape(&scanner)).utf8
        }
    }

    private static func parseEscape(_ scanner: inout TOMLScanner) throws(TOMLFault) -> Unicode.Scalar {
        let start = scanner
        scanner.take()
        let letter = scanner.peek
        if letter != nil, letter != UInt8(ascii: "\n") { scanner.take() }
        switch letter {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "\""): return "\""
        case UInt8(ascii: "\\"): return "\\"
        case UInt8(ascii: "u"): return try parseScalar(&scanner, digits: 4, start)
        case UInt8(ascii: "U"): return try parseScalar(&scanner, digits: 8, start)
        default:
            throw start.fault("unknown escape; write a backslash twice, or use single quotes")
        }
    }

    private static func parseScalar(
        _ scanner: inout TOMLScanner, digits: Int, _ start: TOMLScanner
    ) throws(TOMLFault) -> Unicode.Scalar {
        var value: UInt32 = 0
        for _ in 0..<digits {
            guard let byte = scanner.peek, let digit = Hexadecimal.value(of: byte) else {
                throw start.fault("an escape needs \(digits) hexadecimal digits")
            }
            // Eight digits have exactly 32 bits, so nothing is shifted out.
            value = value << 4 | UInt32(digit)
            scanner.take()
        }
        guard let scalar = Unicode.Scalar(value) else { throw start.fault("there is no such character") }
        return scalar
    }
}
