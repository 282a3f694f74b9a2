/// Reads a JSON object (RFC 8259) whose values are strings, numbers, true, false or null. The initializer returns nil
/// if the text is not exactly one object, or if a key occurs twice.
struct FlatObject {
    private var values: [String: String] = [:]
    private var rest: Substring

    /// The value as written, including quotes.
    subscript(key: String) -> String? { values["\"\(key)\""] }

    init?(_ text: String) {
        rest = text[...]
        guard take("{") else { return nil }
        repeat {
            guard let key = string(), take(":"), let value = string() ?? scalar() else { return nil }
            guard values.updateValue(value, forKey: key) == nil else { return nil }
        } while take(",")
        guard take("}"), rest.isEmpty else { return nil }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.unicodeScalars.first == character else { return false }
        rest.unicodeScalars.removeFirst()
        return true
    }

    private mutating func string() -> String? {
        let whole = rest
        guard take("\"") else { return nil }
        while let scalar = rest.unicodeScalars.popFirst() {
            switch scalar {
            case "\"": return String(whole[..<rest.startIndex])
            case "\\": guard escape() else { return nil }
            case _ where scalar.value < 0x20: return nil
            default: continue
            }
        }
        return nil
    }

    private mutating func escape() -> Bool {
        guard let scalar = rest.unicodeScalars.popFirst() else { return false }
        guard scalar == "u" else { return "\"\\/bfnrt".unicodeScalars.contains(scalar) }
        let digits = rest.unicodeScalars.prefix(4)
        rest.unicodeScalars.removeFirst(digits.count)
        return digits.count == 4 && digits.allSatisfy { $0.properties.isASCIIHexDigit }
    }

    private mutating func scalar() -> String? {
        let text = rest.unicodeScalars.prefix { $0 != "," && $0 != "}" }
        rest.unicodeScalars.removeFirst(text.count)
        let value = String(text)
        let isNumber = value.wholeMatch(of: #/-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/#) != nil
        return isNumber || ["true", "false", "null"].contains(value) ? value : nil
    }
}
