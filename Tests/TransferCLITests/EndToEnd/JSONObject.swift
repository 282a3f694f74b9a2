/// A flat JSON object, with its members in order and its values as written.
struct JSONObject: Equatable {
    let keys: [String]
    private let values: [String: String]

    /// - Throws: if the text is not exactly one object without nested objects.
    init(_ text: Substring) throws {
        var rest = text[...]
        var keys: [String] = []
        var values: [String: String] = [:]
        var separator: Character = "{"
        repeat {
            guard rest.popFirst() == separator, let key = Self.string(&rest), rest.popFirst() == ":",
                let value = Self.value(&rest)
            else { throw Program.Failure(description: "no JSON object: \(text)") }
            keys.append(key)
            values[key] = value
            separator = ","
        } while rest.first == ","
        guard rest == "}" else { throw Program.Failure(description: "no end of a JSON object: \(text)") }
        self.keys = keys
        self.values = values
    }

    /// The value of a member: a string without its quotes, any other value as written.
    subscript(key: String) -> String? { values[key] }

    private static func value(_ rest: inout Substring) -> String? {
        if rest.first == "\"" { return string(&rest) }
        let value = rest.prefix { $0 != "," && $0 != "}" }
        rest = rest.dropFirst(value.count)
        return value.isEmpty ? nil : String(value)
    }

    /// Escapes stay as they are, except the two that any file name can need.
    private static func string(_ rest: inout Substring) -> String? {
        guard rest.popFirst() == "\"" else { return nil }
        var text = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return text
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                text += escaped == "\"" || escaped == "\\" ? "\(escaped)" : "\\\(escaped)"
            default: text.append(character)
            }
        }
        return nil
    }
}
