extension ManualPage {
    /// What the page of the program says that no command does.
    static var programDescription: [String] {
        let paragraphs = [
            Commands.program.summary,
            "An upload counts as done when the server says so, and the server says so only when its content is verified, "
                + "on disk, and under its name. Whatever happens to either side or to the network, running the same command "
                + "again completes what is missing.",
        ]
        let commands = Commands.all.flatMap {
            Roff.entry($0.names.map(Roff.bold).joined(separator: ", "), [$0.summary])
        }
        return Roff.section("DESCRIPTION", Roff.paragraphs(paragraphs)) + Roff.section("COMMANDS", commands)
    }

    static var programSurroundings: [String] {
        Roff.section("CONFIGURATION", Roff.paragraphs(configuration))
            + Roff.section("ENVIRONMENT", entries(variables)) + Roff.section("FILES", entries(files))
    }

    private static func entries(_ entries: [(term: String, text: String)]) -> [String] {
        entries.flatMap { Roff.entry(Roff.bold($0.term), [$0.text]) }
    }

    private static let configuration = [
        "A flag is set to the first of these that says something: the command line, its variable in the environment, the "
            + "remote that the command is about, the file that --config names, the user's file, the default. --no-FLAG on the "
            + "command line takes back whatever the others say.",
        "The file is written in TOML. A table with the words of a command, such as [push] or [access.token.create], sets flags "
            + "by their long names; server and dir in front of all tables are those of all commands; [remote.NAME] has a server's "
            + "address, and flags for that server. Switches are true or false. Relative paths count from the folder of the file.",
        "'transfer config show' prints what everything is set to, and where.",
    ]

    private static let variables = [
        (
            "TRANSFER_COMMAND_FLAG",
            "Every flag of every command has a variable: the words of the command and of the flag in capitals, with _ between "
                + "them, such as TRANSFER_PUSH_LANES. Switches are true or false; several values are separated by line feeds. "
                + "An empty variable counts as none."
        ),
        ("TRANSFER_SERVER", "The server of all commands that ask for one, after the variables of their flags."),
        ("TRANSFER_DIR", "The directory of a server here, for all commands that ask for one, in the same way."),
        ("TRANSFER_TOKEN", "An access token to show to the server, where no flag names one."),
        ("XDG_CONFIG_HOME", "Where the user's folder is, instead of ~/.config."),
    ]

    private static let files = [
        ("~/.config/transfer/config.toml", "Settings of commands, and servers with names."),
        (
            "~/.config/transfer/known_servers",
            "The keys of servers that were seen before; see 'transfer help trust list'."
        ),
        (
            "~/.config/transfer/syncs",
            "What syncs have seen, so that they replace nothing that somebody else has changed."
        ),
        ("~/.config/transfer/key.pem", "The key that servers know this user by; see 'transfer help key'."),
    ]
}
