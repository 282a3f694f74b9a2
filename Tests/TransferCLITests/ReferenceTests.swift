import Testing
import TransferModel
import TransferTestSupport

@testable import TransferCLI

/// The tables of results, settings and JSON objects in `docs/reference` are rendered from code; see `GeneratedParts`.
@Suite struct ReferenceTests {
    @Test func results() throws {
        let sentences = try ResultSentences()
        let rows = try ResultCode.all.map { code, name in
            [
                "\(code.rawValue)", "`\(name)`", "\(code.class)", code.isRetryable ? "yes" : "no", "\(code.exitCode)",
                try #require(sentences[name], "\(name) has no comment"),
            ]
        }
        let codes = ExitCode.allCases.map { ["\($0.rawValue)", $0.meaning] }
        let parts = [
            ("exit codes", GeneratedParts.table(["exit code", "meaning"], codes)),
            ("results", GeneratedParts.table(["code", "name", "class", "retry", "exit", "meaning"], rows)),
        ]
        let difference = GeneratedParts.difference(of: "docs/reference/results.md", from: parts)
        #expect(difference == nil)
    }

    @Test func settings() {
        let difference = GeneratedParts.difference(
            of: "docs/reference/configuration.md", from: [("settings", SettingsTable().text)])
        #expect(difference == nil)
    }

    @Test func objects() throws {
        let difference = GeneratedParts.difference(
            of: "docs/reference/json.md", from: [("objects", try ObjectTables(DocumentedSchema()).text)])
        #expect(difference == nil)
    }
}

/// The comments of the constants of `ResultCode`, by code.
private struct ResultSentences {
    private var sentences: [String: String] = [:]

    init() throws {
        let path = "Sources/TransferModel/Results/ResultCode.swift"
        let root = try #require(MarkdownDocument.directory(of: path))
        let source = try #require(MarkdownDocument.read("\(root)/\(path)"))
        var comment: [Substring] = []
        for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = line.drop { $0 == " " }
            if text.hasPrefix("/// ") {
                comment.append(text.dropFirst(4))
            } else {
                if text.hasPrefix("public static let "), let name = text.dropFirst(18).split(separator: " ").first {
                    sentences[String(name)] = comment.joined(separator: " ")
                }
                comment = []
            }
        }
    }

    subscript(name: String) -> String? { sentences[name] }
}

/// All flags that files and variables can set: one row for each name and sentence, with the commands that have the
/// flag.
private struct SettingsTable {
    private struct Setting {
        let flag: Flag
        var commands: [Command]
        var sentence: Sentence

        /// Merges another flag of the same name into the row, if one sentence can describe both.
        mutating func take(_ flag: Flag, of command: Command) -> Bool {
            guard (self.flag.name, self.flag.values) == (flag.name, flag.values), sentence.take(flag.help) else {
                return false
            }
            commands.append(command)
            return true
        }
    }

    /// Sentences that differ only in a few words in the middle.
    private struct Sentence {
        private let words: [Substring]
        private var variants: [ArraySlice<Substring>]
        private var common: (front: Int, back: Int)?

        init(_ text: String) {
            words = text.split(separator: " ")
            variants = [words[...]]
        }

        mutating func take(_ text: String) -> Bool {
            let other = text.split(separator: " ")
            if variants.contains(where: { whole($0) == other }) { return true }
            let front = zip(words, other).prefix { $0 == $1 }.count
            let back = zip(words.dropFirst(front).reversed(), other.dropFirst(front).reversed()).prefix { $0 == $1 }
                .count
            let places = (front, back)
            guard common.map({ $0 == places }) ?? true, front + back > 2 else { return false }
            let middles = [words, other].map { $0.dropFirst(front).dropLast(back) }
            guard middles.allSatisfy({ (1...3).contains($0.count) }) else { return false }
            if common == nil { variants = [middles[0]] }
            common = places
            variants.append(middles[1])
            return true
        }

        private func whole(_ variant: ArraySlice<Substring>) -> [Substring] {
            guard let common else { return Array(variant) }
            return words.prefix(common.front) + variant + words.suffix(common.back)
        }

        var text: String {
            let middles = variants.map { $0.joined(separator: " ") }
            // The full stop follows the last variant.
            let isAtEnd = common?.back == 0
            let choice =
                middles.map { isAtEnd ? String($0.dropLast()) : $0 }.joined(separator: "/") + (isAtEnd ? "." : "")
            guard let common else { return choice }
            return (words.prefix(common.front) + [Substring(choice)] + words.suffix(common.back)).joined(separator: " ")
        }
    }

    private let settings: [Setting]

    init() {
        var settings: [Setting] = []
        for command in Self.withFlags {
            for flag in command.flags where flag.reach != .nowhere {
                let isTaken = settings.indices.contains { settings[$0].take(flag, of: command) }
                guard !isTaken else { continue }
                settings.append(Setting(flag: flag, commands: [command], sentence: Sentence(flag.help)))
            }
        }
        self.settings = settings.enumerated()
            .sorted { ($0.element.flag.name, $0.offset) < ($1.element.flag.name, $1.offset) }.map(\.element)
    }

    var text: String {
        let rows = settings.map { setting in
            let flag = setting.flag
            let isInFiles = flag.reach == .environmentAndFiles && setting.commands.contains { $0.hasSettings }
            return [
                isInFiles ? "`\(flag.name)`" : "", variables(setting), commands(setting.commands),
                flag.defaultValue.map { "`\($0)`" } ?? "",
                setting.sentence.text + (flag.choices.map { " \(GeneratedParts.code($0, separator: "/"))." } ?? ""),
            ]
        }
        let talking = GeneratedParts.code(Self.talking.map(\.name), separator: "/")
        return "*Clients* are the commands that talk to a server: \(talking).\n\n"
            + GeneratedParts.table(["key", "variable", "commands", "default", "meaning"], rows)
    }

    /// The variable of each command; a star replaces the command if there are several.
    private func variables(_ setting: Setting) -> String {
        let flag = setting.flag
        let own = setting.commands.compactMap { $0.variables(of: flag).first }
        let words = flag.name.uppercased().map { $0 == "-" ? "_" : $0 }
        let name = own.count == 1 ? own[0] : "TRANSFER_*_" + String(words)
        return GeneratedParts.code([name] + [flag.environment].compactMap(\.self))
    }

    private static let talking = Commands.all.filter { $0.serverFlag != nil }
    private static let withFlags = Commands.all.filter { $0.flags.contains { $0.reach != .nowhere } }

    /// If nearly all commands have the flag, or nearly all that talk to a server, the text names the exceptions.
    private func commands(_ commands: [Command]) -> String {
        for (name, group) in [("all", Self.withFlags), ("clients", Self.talking)] {
            let missing = group.filter { !commands.contains($0) }
            let more = commands.filter { !group.contains($0) }
            guard missing.count + more.count < 4, commands.count > 9 else { continue }
            return name
                + (missing.isEmpty ? "" : " without \(GeneratedParts.code(missing.map(\.name), separator: "/"))")
                + (more.isEmpty ? "" : ", \(GeneratedParts.code(more.map(\.name), separator: "/"))")
        }
        return GeneratedParts.code(commands.map(\.name), separator: "/")
    }
}

/// The members of all objects that the schema describes, each in the first table that has it.
private struct ObjectTables {
    private struct Row: Equatable {
        let name: String
        let type: String
        let meaning: String
    }

    private let schema: DocumentedSchema
    private(set) var text = ""

    init(_ schema: DocumentedSchema) throws {
        self.schema = schema
        var known: [(title: String, rows: [Row])] = []
        for name in schema.names {
            let object = try #require(schema[name])
            let title = try #require(string(object["title"]))
            let identifier = string(object["properties"]?["schema"]?["const"])
            text += "\(text.isEmpty ? "" : "\n")### \(title)\n\n"
            text += (identifier.map { "`\($0)`. " } ?? "") + (string(object["description"]) ?? "") + "\n"
            // Receipts have a separate page.
            guard identifier != nil else { continue }
            var rows = rows(of: object, "").filter { !$0.type.isEmpty }
            known.append((title, rows))
            var references: [String] = []
            for (title, others) in known.dropLast() {
                let same = rows.filter { !$0.meaning.isEmpty && others.contains($0) }
                guard !same.isEmpty else { continue }
                rows.removeAll { same.contains($0) }
                references.append("in [\(title)](#\(anchor(title))) \(GeneratedParts.code(same.map(\.name)))")
            }
            if !references.isEmpty { text += "\nAs \(references.joined(separator: "; ")).\n" }
            guard !rows.isEmpty else { continue }
            text += "\n" + GeneratedParts.table(["member", "type", "meaning"], joined(rows))
        }
    }

    /// Adjacent members that differ only in their names share a row.
    private func joined(_ rows: [Row]) -> [[String]] {
        var groups: [(names: [String], row: Row)] = []
        for row in rows {
            if let last = groups.last?.row, (last.type, last.meaning) == (row.type, row.meaning) {
                groups[groups.count - 1].names.append(row.name)
            } else {
                groups.append(([row.name], row))
            }
        }
        return groups.map { [GeneratedParts.code($0.names), $0.row.type, $0.row.meaning] }
    }

    private func rows(of object: JSONNode, _ prefix: String) -> [Row] {
        guard case .object(let members)? = object["properties"] else { return [] }
        return members.flatMap { name, node in
            let node = resolved(node)
            let isOptional = string(object["title"]) != nil && !strings(object["required"]).contains(name)
            let row = Row(
                name: prefix + name, type: type(of: node) + (isOptional ? ", optional" : ""),
                meaning: string(node["description"]) ?? "")
            let items = resolved(node["items"] ?? .null)
            let inner = rows(of: node, "\(prefix)\(name).") + rows(of: items, "\(prefix)\(name)[].")
            // An object that its members explain completely needs no row.
            return row.meaning.isEmpty && !inner.isEmpty ? inner : [row] + inner
        }
    }

    /// The definition that a node refers to.
    private func resolved(_ node: JSONNode) -> JSONNode {
        guard let reference = string(node["$ref"]), let name = reference.split(separator: "/").last else { return node }
        let definition = schema[String(name)] ?? .null
        guard case .object(let members) = definition else { return .null }
        // The section of the definition itself gives its description.
        return .object(members.filter { $0.key != "description" })
    }

    private func type(of node: JSONNode) -> String {
        // The heading already names the value.
        if node["const"] != nil { return "" }
        if case .array(let choices)? = node["enum"] {
            let words = choices.compactMap { string($0) }
            return GeneratedParts.code(words, separator: "/") + (words.count < choices.count ? "/null" : "")
        }
        let types = strings(node["type"])
        let items = string(resolved(node["items"] ?? .null)["type"]) ?? "value"
        return types.map { $0 == "array" ? "\(items)[]" : $0 }.joined(separator: "/")
    }

    /// The anchor of a heading within its page.
    private func anchor(_ title: String) -> String {
        String(title.lowercased().compactMap { $0 == " " ? "-" : $0.isLetter || $0.isNumber || $0 == "-" ? $0 : nil })
    }

    private func string(_ node: JSONNode?) -> String? {
        if case .string(let text)? = node { text } else { nil }
    }

    /// The strings of an array, or the single string.
    private func strings(_ node: JSONNode?) -> [String] {
        guard case .array(let nodes)? = node else { return [node].compactMap(string) }
        return nodes.compactMap(string)
    }
}
