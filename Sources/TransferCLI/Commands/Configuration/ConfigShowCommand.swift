private import TransferModel

/// `transfer config show`: prints what flags are set to, and where.
struct ConfigShowCommand {
    /// Columns that the origins of a table stand behind at most.
    private static let widestSetting = 40

    private let shown: [ParsedArguments]
    private let sources: SettingSources
    private let isJSON: Bool

    /// - Throws: `UsageError` for arguments that the command to show does not take, and for what is wrong in variables and
    ///   files.
    init(_ arguments: ParsedArguments, _ sources: SettingSources) throws(UsageError) {
        self.sources = sources
        isJSON = arguments.isSet("json")
        guard !arguments.operands.isEmpty else {
            shown = try Commands.all.filter(\.hasSettings).map { (command) throws(UsageError) in
                try ArgumentParser.parse([], command: command, sources: sources)
            }
            return
        }
        var rest = arguments.operands[...]
        let command = try Commands.taken(from: &rest)
        guard command.hasSettings else { throw arguments.error("'\(command.name)' has no settings") }
        shown = [try ArgumentParser.parse(Array(rest), command: command, sources: sources)]
    }

    func run() -> ExitCode {
        let text =
            isJSON
            ? shown.flatMap(\.settingLines).map { $0.text + "\n" }.joined()
            : (["# The user's file: \(sources.userFile?.escapedForDisplay ?? "none")\n"] + shown.map(Self.table))
                .joined(separator: "\n")
        StandardStream.output.write(text)
        return .success
    }

    private static func table(_ arguments: ParsedArguments) -> String {
        let rows = arguments.shownFlags.map { (arguments.text(of: $0), arguments.origin(of: $0)) }
        let width = rows.map(\.0.displayColumns).filter { $0 <= widestSetting }.max() ?? 0
        let lines = rows.map { text, origin in
            text + String(repeating: " ", count: max(0, width - text.displayColumns)) + "  # \(origin)"
        }
        return ([arguments.command.tableHeader] + lines).map { $0 + "\n" }.joined()
    }
}
