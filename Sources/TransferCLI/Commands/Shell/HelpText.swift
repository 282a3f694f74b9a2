/// The help texts, generated from the tables of commands and flags. Lines have at most 80 columns.
enum HelpText {
    static let columns = 80

    /// The widest term, in columns, beside which its text stands. The text of a wider term is below it.
    private static let widestTerm = 26

    /// The output of `transfer --help`.
    static func overview() -> String {
        let program = Commands.program
        return page([
            [program.summary], ["Usage: transfer COMMAND [FLAGS] [OPERANDS]"],
            ["Commands:"] + list(Commands.all.map { ($0.nameWithAliases, $0.summary) }),
            ["Flags:"] + list(program.flags.map { ($0.synopsis, $0.help) }),
            outcomes(of: program),
            [
                "'transfer COMMAND --help' lists the flags of a command; 'transfer help COMMAND'",
                "describes it in full.",
            ],
        ])
    }

    /// The output of `transfer help` for words with which several commands begin, such as `access`.
    static func list(after stem: String) -> String {
        let commands = Commands.all.filter { $0.name.hasPrefix(stem + " ") }
        return page([
            ["Usage: transfer \(stem) COMMAND [FLAGS] [OPERANDS]"],
            ["Commands:"] + list(commands.map { ($0.nameWithAliases, $0.summary) }),
            ["'transfer help COMMAND' describes a command in full."],
        ])
    }

    /// The output of `transfer COMMAND --help`.
    static func brief(for command: Command) -> String {
        page([
            wrap(command.summary, indent: 0), [usage(of: command)],
            ["Flags:"] + list(command.flags.map { ($0.synopsis, [$0.help, $0.values].joined(separator: " ")) }),
            ["'\(command.helpInvocation)' describes them in full."],
        ])
    }

    /// The output of `transfer help COMMAND`.
    static func page(for command: Command) -> String {
        page(
            [wrap(command.summary, indent: 0), [usage(of: command)]]
                + command.paragraphs.map { wrap($0, indent: 0) }
                + [["Flags:"] + entry(of: command.flags[0], command)]
                + command.flags.dropFirst().map { entry(of: $0, command) }
                + [surroundings(of: command), examples(of: command), outcomes(of: command)])
    }

    private static func usage(of command: Command) -> String {
        ["Usage:", command.invocation, "[FLAGS]", command.operands].compactMap(\.self).joined(separator: " ")
    }

    private static func surroundings(of command: Command) -> [String] {
        command.settingsNote.map { wrap($0, indent: 0) } ?? []
    }

    private static func page(_ blocks: [[String]]) -> String {
        blocks.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") + "\n" }.joined(separator: "\n")
    }

    private static func entry(of flag: Flag, _ command: Command) -> [String] {
        let sentences = [flag.help, flag.details].filter { !$0.isEmpty }
        return ["  " + flag.synopsis] + wrap(sentences.joined(separator: " "), indent: 6)
            + wrap(flag.facts(in: command), indent: 6)
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
        let width = min(widestTerm, rows.map(\.term.displayColumns).max() ?? 0)
        return rows.flatMap { row in
            let lines = wrap(row.text, indent: width + 4)
            guard row.term.displayColumns <= width else { return ["  " + row.term] + lines }
            let padding = String(repeating: " ", count: width - row.term.displayColumns)
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
