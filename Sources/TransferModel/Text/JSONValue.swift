/// A JSON value (RFC 8259) that is to be written, stored as its text.
package struct JSONValue: Equatable, Sendable {
    private enum Form: Sendable {
        case text(String)
        /// A string to which the quotes are added only when it is written. Most strings are written once.
        case plain(String)
    }

    private let form: Form

    private init(text: String) { form = .text(text) }

    private init(plain text: String) { form = .plain(text) }

    /// The JSON text: one line, and safe to show on a terminal.
    package var text: String {
        switch form {
        case .text(let text): text
        case .plain(let text): "\"" + text + "\""
        }
    }

    /// Size of the text in bytes.
    var length: Int {
        switch form {
        case .text(let text): text.utf8.count
        case .plain(let text): text.utf8.count + 2
        }
    }

    func write(to writer: inout ByteWriter) {
        switch form {
        case .text(let text): writer.append(text)
        case .plain(let text):
            writer.append("\"")
            writer.append(text)
            writer.append("\"")
        }
    }

    package static func == (a: Self, b: Self) -> Bool { a.text == b.text }

    package static let null = JSONValue(text: "null")

    package static func bool(_ value: Bool) -> JSONValue { JSONValue(text: value ? "true" : "false") }

    package static func integer(_ value: some BinaryInteger) -> JSONValue { JSONValue(text: "\(value)") }

    /// A number with these digits; the caller guarantees that they are valid JSON.
    package static func number(_ digits: String) -> JSONValue { JSONValue(text: digits) }

    /// A number; infinities and NaN become null, because JSON doesn't have them.
    package static func double(_ value: Double) -> JSONValue { value.isFinite ? JSONValue(text: "\(value)") : .null }

    package static func array(_ values: [JSONValue]) -> JSONValue {
        JSONValue(text: "[" + values.map(\.text).joined(separator: ",") + "]")
    }

    package static func object(_ object: JSONLine) -> JSONValue { JSONValue(text: object.text) }

    /// A string without characters to escape, such as long Base64; the caller guarantees this.
    package static func plain(_ digits: String) -> JSONValue { JSONValue(plain: digits) }

    /// Whether no character of a text needs an escape: the text is ASCII without quotes, backslashes and control
    /// characters.
    static func isPlain(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            bytes.allSatisfy { 0x20..<0x7F ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
    }

    package static func string(_ value: String) -> JSONValue {
        guard !isPlain(value) else { return .plain(value) }
        var text = "\""
        for scalar in value.unicodeScalars {
            if let escape = escape(for: scalar) {
                text += escape
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return JSONValue(text: text + "\"")
    }

    /// The escape for a character. In addition to those of RFC 8259, characters are escaped that could control a
    /// terminal or end a line for some readers: C1 controls, line and paragraph separators, and bidirectional controls.
    /// All their numbers have four digits.
    private static func escape(for scalar: Unicode.Scalar) -> String? {
        switch scalar.value {
        case 0x22: "\\\""
        case 0x5C: "\\\\"
        case 0x08: "\\b"
        case 0x09: "\\t"
        case 0x0A: "\\n"
        case 0x0C: "\\f"
        case 0x0D: "\\r"
        case 0..<0x20, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069:
            "\\u" + String(hexadecimal: scalar.value, digits: 4)
        default: nil
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }

    package init(integerLiteral value: Int64) { self = .integer(value) }

    package init(booleanLiteral value: Bool) { self = .bool(value) }

    package init(nilLiteral: ()) { self = .null }
}
