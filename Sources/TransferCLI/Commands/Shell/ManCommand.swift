/// `transfer man`: prints a manual page, or the names of all pages.
struct ManCommand {
    private let text: String

    /// - Throws: `UsageError` for an unknown page.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments[Self.names] else {
            guard arguments.operands.isEmpty else { throw arguments.error("--names takes no operand") }
            text = ManualPage.names.map { $0 + "\n" }.joined()
            return
        }
        text = ManualPage.page(for: try Self.command(arguments.operands))
    }

    private static func command(_ operands: [String]) throws(UsageError) -> Command {
        guard let first = operands.first else { return Commands.program }
        let all = [Commands.program] + Commands.all
        if operands.count == 1, let command = all.first(where: { ManualPage.name(of: $0) == first }) { return command }
        return try Commands.named(operands)
    }

    func run() -> ExitCode {
        StandardStream.output.write(text)
        return .success
    }
}

extension ManCommand: ProgramCommand {
    private static let names = Flag(name: "names", help: "Print the names of all pages.", reach: .environment).isOn

    static let definition = Command(
        name: "man", summary: "Print a manual page.", operands: "[COMMAND|PAGE]",
        description: [
            "Prints the page of a command, or of the program, in the format of man(1). 'make install' "
                + "and packages put all pages where man(1) finds them, under names such as transfer-push."
        ],
        flags: [names.flag, .help],
        examples: [
            .init(caption: "Read about pushing", line: "transfer man push | man -l -"),
            .init(caption: "The same by the page's name", line: "transfer man transfer-push | man -l -"),
        ],
        outcomes: [.init(.success, "the page was printed"), .init(.usage)], operandValue: .command)
}
