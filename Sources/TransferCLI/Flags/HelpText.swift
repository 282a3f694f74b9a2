/// The help, written from the tables of commands and flags. No line is wider than 80 columns.
enum HelpText {
    static let columns = 80

    /// What `transfer --help` prints.
    static func overview() -> String {
        let program = Commands.program
        return page([
            [program.summary], ["Usage: transfer COMMAND [FLAGS] [OPERANDS]"],
            ["Commands:"] + list(Commands.all.map { ($0.name, $0.summary) }),
            ["Flags:"] + list(program.flags.map { ($0.synopsis, $0.help) }),
            outcomes(of: program), ["'transfer help COMMAND' tells all about a command."],
        ])
    }

    /// What `transfer help COMMAND` prints.
    static func page(for command: Command) -> String {
        let usage = ["Usage:", command.invocation, "[FLAGS]", command.operands].compactMap(\.self)
        return page(
            [wrap(command.summary, indent: 0), [usage.joined(separator: " ")]]
                + command.description.map { wrap($0, indent: 0) } + [["Flags:"] + entry(of: command.flags[0])]
                + command.flags.dropFirst().map(entry) + [examples(of: command), outcomes(of: command)])
    }

    private static func page(_ blocks: [[String]]) -> String {
        blocks.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    private static func entry(of flag: Flag) -> [String] {
        let sentences = [flag.help, flag.details].filter { !$0.isEmpty }
        return ["  " + flag.synopsis] + wrap(sentences.joined(separator: " "), indent: 6)
            + wrap(values(of: flag), indent: 6)
    }

    private static func values(of flag: Flag) -> String {
        let facts = [
            flag.choices.map { "One of: \($0.joined(separator: ", "))." },
            flag.defaultValue.map { "Default: \($0)." },
            flag.environment.map { "Environment: \($0)." },
        ]
        return facts.compactMap(\.self).joined(separator: " ")
    }

    private static func examples(of command: Command) -> [String] {
        guard !command.examples.isEmpty else { return [] }
        return ["Examples:"] + command.examples.flatMap { ["  \($0.caption):", "      \($0.line)"] }
    }

    private static func outcomes(of command: Command) -> [String] {
        guard !command.outcomes.isEmpty else { return [] }
        return ["Exit codes:"] + list(command.outcomes.map { ("\($0.code.rawValue)", $0.meaning) })
    }

    private static func list(_ rows: [(term: String, text: String)]) -> [String] {
        let width = rows.map(\.term.displayColumns).max() ?? 0
        return rows.flatMap { row in
            let padding = String(repeating: " ", count: width - row.term.displayColumns)
            let lines = wrap(row.text, indent: width + 4)
            return ["  \(row.term)\(padding)  \(lines.first?.drop { $0 == " " } ?? "")"] + lines.dropFirst()
        }
    }

    private static func wrap(_ text: String, indent: Int) -> [String] {
        let margin = String(repeating: " ", count: indent)
        var lines: [String] = []
        for word in text.split(separator: " ") {
            if let line = lines.last, line.displayColumns + 1 + String(word).displayColumns <= columns {
                lines[lines.endIndex - 1] = "\(line) \(word)"
            } else {
                lines.append(margin + word)
            }
        }
        return lines
    }
}
