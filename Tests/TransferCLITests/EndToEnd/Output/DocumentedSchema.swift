import TransferModel
import TransferTestSupport

@testable import TransferCLI

/// The schema in `docs`, interpreted with the JSON Schema keywords that it uses; any other keyword is an error.
struct DocumentedSchema {
    private let root: JSONNode

    init() throws {
        let root = photo.split(separator: "/").dropLast(2).joined(separator: "/")
        self.root = try JSONReader.read(readFile("/\(root)/reference/transfer.schema.json"))
    }

    /// The definitions of the objects that commands print.
    var names: [String] {
        guard case .array(let choices)? = root["oneOf"] else { return [] }
        return choices.compactMap { choice in
            guard case .string(let reference)? = choice["$ref"] else { return nil }
            return reference.split(separator: "/").last.map { String($0) }
        }
    }

    /// The definition with that name.
    subscript(name: String) -> JSONNode? { root["$defs"]?[name] }

    /// The definitions that the value satisfies and that define all its members.
    func matches(_ value: JSONNode) throws -> [String] {
        try names.filter { name in
            guard let definition = root["$defs"]?[name], try isValid(value, definition) else { return false }
            return Self.keys(value).isSubset(of: Self.keys(definition["properties"] ?? .null))
        }
    }

    private static func keys(_ node: JSONNode) -> Set<String> {
        guard case .object(let members) = node else { return [] }
        return Set(members.map(\.key))
    }

    private func isValid(_ value: JSONNode, _ schema: JSONNode) throws -> Bool {
        guard case .object(let keywords) = schema else { throw Program.Failure(description: "no schema: \(schema)") }
        for (keyword, rule) in keywords where try !holds(keyword, rule, value) { return false }
        return true
    }

    private func holds(_ keyword: String, _ rule: JSONNode, _ value: JSONNode) throws -> Bool {
        switch (keyword, rule) {
        case ("description", _), ("title", _): return true
        case ("$ref", .string(let reference)):
            guard let name = reference.split(separator: "/").last, let target = root["$defs"]?[String(name)] else {
                break
            }
            return try isValid(value, target)
        case ("type", .string(let type)): return Self.isA(type, value)
        case ("type", .array(let types)):
            return types.contains { if case .string(let type) = $0 { Self.isA(type, value) } else { false } }
        case ("const", _): return value == rule
        case ("enum", .array(let choices)): return choices.contains(value)
        case ("properties", .object(let members)):
            return try members.allSatisfy { key, schema in try value[key].map { try isValid($0, schema) } ?? true }
        case ("required", .array(let keys)):
            guard case .object = value else { return true }
            return keys.allSatisfy { if case .string(let key) = $0 { value[key] != nil } else { false } }
        case ("items", _):
            guard case .array(let items) = value else { return true }
            return try items.allSatisfy { try isValid($0, rule) }
        case ("pattern", .string(let pattern)):
            guard case .string(let text) = value else { return true }
            return try text.contains(Regex(pattern))
        case ("minimum", .number(let least)):
            guard case .number(let number) = value, let number = Double(number) else { return true }
            return Double(least).map { number >= $0 } ?? false
        default: break
        }
        throw Program.Failure(description: "the schema has '\(keyword)', which is not understood")
    }

    private static func isA(_ type: String, _ value: JSONNode) -> Bool {
        switch (type, value) {
        case ("null", .null), ("boolean", .bool), ("string", .string), ("number", .number), ("array", .array),
            ("object", .object):
            true
        case ("integer", .number(let text)): text.allSatisfy { $0.isNumber || $0 == "-" }
        default: false
        }
    }
}
