extension Commands {
    static let configShow = Command(
        name: "config show", summary: "Show what every flag is set to, and where.",
        operands: "[COMMAND [FLAGS]]",
        description: [
            "Prints the settings of COMMAND, or of all commands, as they stand in a configuration file, each with where it "
                + "comes from: the command line, a variable of the environment, a remote, a line of a file, or the default.",
            "Flags behind COMMAND count as if COMMAND was run with them.",
        ],
        flags: [
            Flag(name: "json", help: "Print one JSON object a line for every setting.", reach: .environment), .help,
        ],
        examples: [
            .init(caption: "See what a push would do", line: "transfer config show push"),
            .init(
                caption: "See what a push to a remote would do", line: "transfer config show push --to home --lanes 2"),
            .init(caption: "See everything that a file has set", line: "transfer config show | grep toml:"),
        ],
        outcomes: [.init(.success, "the settings were printed"), .init(.usage)], takesCommandLine: true,
        operandValue: .command)
}
