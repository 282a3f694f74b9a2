private import TransferModel

/// `transfer config show`: prints the values of flags and where they are set.
struct ConfigShowCommand {
    /// The widest setting, in columns, that moves the column of origins to the right.
    private static let widestSetting = 40

    private let shown: [ShownSettings]
    private let sources: SettingSources
    private let isJSON: Bool

    /// - Throws: `UsageError` for arguments that the command whose settings are shown does not accept, and for faults
    ///   in variables and files.
    init(_ arguments: ParsedArguments, _ sources: SettingSources) throws(UsageError) {
        self.sources = sources
        isJSON = arguments[Self.json]
        guard !arguments.operands.isEmpty else {
            shown = try Commands.all.filter(\.hasSettings).map { (command) throws(UsageError) in
                ShownSettings(try ArgumentParser.parse([], command: command, sources: sources))
            }
            return
        }
        var rest = arguments.operands[...]
        let command = try Commands.taken(from: &rest)
        guard command.hasSettings else { throw arguments.error("'\(command.name)' has no settings") }
        shown = [ShownSettings(try ArgumentParser.parse(Array(rest), command: command, sources: sources))]
    }

    func run() -> ExitCode {
        let text =
            isJSON
            ? shown.flatMap(\.lines).map { $0.text + "\n" }.joined()
            : (["# The user's file: \(sources.userFile?.escapedForDisplay ?? "none")\n"] + shown.map(Self.table))
                .joined(separator: "\n")
        StandardStream.output.write(text)
        return .success
    }

    private static func table(_ settings: ShownSettings) -> String {
        let rows = settings.flags.map { (settings.text(of: $0), settings.origin(of: $0)) }
        let width = rows.map(\.0.displayColumns).filter { $0 <= widestSetting }.max() ?? 0
        let lines = rows.map { text, origin in
            text + String(repeating: " ", count: max(0, width - text.displayColumns)) + "  # \(origin)"
        }
        return ([settings.header] + lines).map { $0 + "\n" }.joined()
    }
}

extension ConfigShowCommand: ProgramCommand {
    private static let json = Flag(
        name: "json", help: "Print one JSON object per line for every setting.", reach: .environment
    ).isOn

    static let definition = Command(
        name: "config show", summary: "Show the value of every flag, and where it is set.",
        operands: "[COMMAND [FLAGS]]",
        description: [
            "Prints the settings of COMMAND, or of all commands, as a configuration file has them, each "
                + "with its origin: the command line, an environment variable, a remote, a line of a file, or "
                + "the default.",
            "Flags after COMMAND count as if COMMAND were run with them.",
        ],
        flags: [json.flag, .insecurePermissions, .help],
        examples: [
            .init(caption: "Show the settings of a push", line: "transfer config show push"),
            .init(
                caption: "Show the settings of a push to a remote",
                line: "transfer config show push --to home --lanes 2"),
            .init(caption: "Show everything that files set", line: "transfer config show | grep toml:"),
        ],
        outcomes: [.init(.success, "the settings were printed"), .init(.usage)], takesCommandLine: true,
        operandValue: .command)

    init(_ arguments: ParsedArguments) throws(UsageError) {
        try self.init(arguments, Environment.sources)
    }
}
