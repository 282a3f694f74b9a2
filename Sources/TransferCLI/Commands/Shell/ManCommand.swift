/// `transfer man`: prints a manual page, or the names of all.
struct ManCommand {
    private let text: String

    /// - Throws: `UsageError` for a page that there is not.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.isSet("names") else {
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
