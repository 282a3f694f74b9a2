extension Commands {
    static let completions = Command(
        name: "completions", summary: "Print what makes a shell complete commands.", operands: "bash|zsh|fish",
        description: [
            "Prints a script that completes commands, flags, their choices, files, and the names of remotes. 'make install' and "
                + "packages put it where the shells look for it; this is for other ways of installing."
        ],
        flags: [.help],
        examples: [
            .init(caption: "For bash, in ~/.bashrc", line: "source <(transfer completions bash)"),
            .init(
                caption: "For zsh, in a folder of its fpath",
                line: "transfer completions zsh > ~/.zsh/completions/_transfer"),
            .init(caption: "For fish", line: "transfer completions fish > ~/.config/fish/completions/transfer.fish"),
        ],
        outcomes: [.init(.success, "it was printed"), .init(.usage)], operandValue: .oneOf(Shell.flagValues))
}
