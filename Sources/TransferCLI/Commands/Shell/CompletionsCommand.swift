/// `transfer completions`: prints a completion script for a shell.
struct CompletionsCommand {
    private let shell: Shell

    /// - Throws: `UsageError` unless the operand is a supported shell.
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

extension CompletionsCommand: ProgramCommand {
    static let definition = Command(
        name: "completions", summary: "Print completions for a shell.", operands: "bash|zsh|fish",
        description: [
            "Prints a script that completes commands, flags, their choices, files, the names of remotes, "
                + "and paths on them. 'make install' and packages put it where shells look for it; this is for "
                + "other installations."
        ],
        flags: [.help],
        examples: [
            .init(caption: "For bash, in ~/.bashrc", line: "source <(transfer completions bash)"),
            .init(
                caption: "For zsh, in a folder of its fpath",
                line: "transfer completions zsh > ~/.zsh/completions/_transfer"),
            .init(caption: "For fish", line: "transfer completions fish > ~/.config/fish/completions/transfer.fish"),
        ],
        outcomes: [.init(.success, "the script was printed"), .init(.usage)], operandValue: .oneOf(Shell.flagValues))
}
