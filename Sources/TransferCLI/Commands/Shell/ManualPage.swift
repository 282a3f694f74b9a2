/// The manual pages, generated from the tables of commands and flags.
enum ManualPage {
    /// The names of all pages, as in `transfer man` and in file names.
    static var names: [String] { ([Commands.program] + Commands.all).map(name) }

    /// The page of a command, or of the program.
    static func page(for command: Command) -> String {
        let isProgram = command == Commands.program
        let lines =
            header(of: command)
            + (isProgram ? programDescription : Roff.section("DESCRIPTION", description(of: command)))
            + Roff.section("OPTIONS", command.flags.flatMap { entry(of: $0, command) })
            + (isProgram ? programSurroundings : Roff.section("CONFIGURATION", surroundings(of: command)))
            + Roff.section("EXIT STATUS", command.outcomes.flatMap { entry(of: $0) })
            + Roff.section(
                "EXAMPLES", command.examples.flatMap { [".PP", Roff.line($0.caption) + ":"] + Roff.example($0.line) })
            + Roff.section("SEE ALSO", references(of: command))
        return lines.joined(separator: "\n") + "\n"
    }

    /// The name of the command's page: `transfer-push`.
    static func name(of command: Command) -> String {
        command.invocation.split(separator: " ").joined(separator: "-")
    }

    private static func header(of command: Command) -> [String] {
        let name = name(of: command)
        let summary = command.summary.prefix(1).lowercased() + command.summary.dropFirst().dropLast()
        let operands = command.operands.map { " " + Roff.escaped($0) } ?? ""
        return [
            ".\\\" Made by 'transfer man'.",
            ".TH \(Roff.escaped(name.uppercased())) 1 \"\" \"transfer \(Roff.escaped(transferVersion))\" \"Transfer\"",
            // Turns off hyphenation, because names of commands must not be split.
            ".nh", ".ad l",
            ".SH NAME", "\(Roff.escaped(name)) \\- \(Roff.escaped(summary))",
            ".SH SYNOPSIS", "\(Roff.bold(command.invocation)) [\(Roff.italic("FLAGS"))]\(operands)",
        ]
    }

    private static func description(of command: Command) -> [String] {
        Roff.paragraphs(command.paragraphs.isEmpty ? [command.summary] : command.paragraphs)
    }

    private static func surroundings(of command: Command) -> [String] {
        Roff.paragraphs([command.settingsNote].compactMap(\.self))
    }

    private static func entry(of flag: Flag, _ command: Command) -> [String] {
        let forms = flag.spellings.map(Roff.bold).joined(separator: ", ")
        let value =
            flag.placeholder.map { flag.bareValue == nil ? " " + Roff.italic($0) : "[=" + Roff.italic($0) + "]" } ?? ""
        return Roff.entry(forms + value, [flag.help, flag.details, flag.facts(in: command)])
    }

    private static func entry(of outcome: Command.Outcome) -> [String] {
        Roff.entry(Roff.bold("\(outcome.code.rawValue)"), [outcome.meaning + "."])
    }

    /// The pages of the section SEE ALSO: for a command, the program's page and those of related commands; for the
    /// program, the pages of all commands.
    private static func references(of command: Command) -> [String] {
        let family = command.name.prefix { $0 != " " }
        let others =
            command == Commands.program
            ? Commands.all
            : [Commands.program] + Commands.all.filter { $0 != command && $0.name.hasPrefix(family + " ") }
        let names = others.map { Roff.bold(name(of: $0)) + "(1)" }
        return names.enumerated().map { $0.element + ($0.offset + 1 < names.count ? "," : "") }
    }
}
