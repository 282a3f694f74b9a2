extension ManualPage {
    /// The sections DESCRIPTION and COMMANDS of the program's page.
    static var programDescription: [String] {
        let paragraphs = [
            Commands.program.summary,
            "An upload is done when the server acknowledges it, and the server does so only when the "
                + "content is verified, on disk, and under its name. Whatever happens to either side or to the "
                + "network, running the same command again completes what is missing.",
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
        "A flag has the value of the first of these that sets it: the command line, its environment "
            + "variable, the remote that the command uses, the file that --config names, the user's file, the "
            + "default. --no-FLAG on the command line overrides all others.",
        "The file is written in TOML. A table named like a command, such as [push] or "
            + "[access.token.create], sets flags by their long names; server and dir before the first table "
            + "apply to all commands; [remote.NAME] has a server's address, and flags for that server. "
            + "Switches are true or false. Relative paths are relative to the folder of the file.",
        "'transfer config show' prints the value of every flag, and where it is set.",
    ]

    private static let variables = [
        (
            "TRANSFER_COMMAND_FLAG",
            "Every flag of every command has a variable: the words of the command and of the flag in "
                + "capitals, with _ between them, such as TRANSFER_PUSH_LANES. Switches are true or false; "
                + "several values are separated by line feeds. An empty variable counts as not set."
        ),
        ("TRANSFER_SERVER", "The server for all commands that take one, unless the variable of their flag is set."),
        ("TRANSFER_DIR", "The directory of a local server, for all commands that take one, in the same way."),
        ("TRANSFER_TOKEN", "An access token, used if no flag names one."),
        ("XDG_CONFIG_HOME", "Where the user's folder is, instead of ~/.config."),
    ]

    private static let files = [
        ("~/.config/transfer/config.toml", "Settings of commands, and remotes."),
        (
            "~/.config/transfer/known_servers",
            "The keys of known servers; see 'transfer help trust list'."
        ),
        (
            "~/.config/transfer/syncs",
            "The state of earlier syncs, by which changes of others are recognised."
        ),
        ("~/.config/transfer/key.pem", "The key by which servers identify this user; see 'transfer help key'."),
    ]
}
