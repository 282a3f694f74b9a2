/// `transfer completions`: prints what makes a shell complete commands.
struct CompletionsCommand {
    private let shell: Shell

    /// - Throws: `UsageError` for anything but a shell that is known.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        let wanted = Shell.flagValues.joined(separator: ", ")
        guard arguments.operands.count == 1, let shell = Shell(rawValue: arguments.operands[0]) else {
            throw arguments.error("give one shell: \(wanted)")
        }
        self.shell = shell
    }

    func run() -> ExitCode {
        StandardStream.output.write(shell.completions)
        return .success
    }
}
