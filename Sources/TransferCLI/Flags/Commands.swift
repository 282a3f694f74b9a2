private import TransferProtocol

/// The table of commands.
enum Commands {
    /// Where `serve` listens and `push` sends when nothing else is said.
    static let defaultAddress = "127.0.0.1:5288"

    /// What `transfer` itself takes in place of a command.
    static let program = Command(
        name: "", summary: "Sends files to a server that acknowledges each one once it is safely stored.",
        operands: "COMMAND",
        flags: [.help, Flag(name: "version", short: "V", help: "Print the version and stop.")],
        outcomes: ExitCode.allCases.map { .init($0) })

    static let help = Command(
        name: "help", summary: "Print what a command does and every flag it takes.", operands: "[COMMAND]",
        description: ["Without a command, lists the commands."], flags: [.help],
        outcomes: [.init(.success, "the help was printed"), .init(.usage)])

    static let all =
        [serve, push, pull, list, stat, cat, remove]
        + [key, trustList, trustAdd, trustRemove]
        + [accessList, accessAdd, accessRemove, accessPair, tokenCreate, tokenList, tokenRevoke]
        + [receiptVerify, receiptShow, verify, help]

    /// Takes the name of a command, one word or several, off the front of the arguments.
    ///
    /// - Parameter arguments: one at least.
    /// - Throws: `UsageError` with a suggestion.
    static func taken(from arguments: inout ArraySlice<String>) throws(UsageError) -> Command {
        let longest = all.map(\.words).max() ?? 1
        let names = (1...longest).map { arguments.prefix($0).joined(separator: " ") }
        for (index, name) in names.enumerated().reversed() {
            guard let command = all.first(where: { $0.name == name }) else { continue }
            arguments = arguments.dropFirst(index + 1)
            return command
        }
        guard let family = names.last(where: { !members(of: $0).isEmpty }) else { return try named(names[0]) }
        let choices = members(of: family).map { "'\($0.name)'" }.joined(separator: " or ")
        throw UsageError("'\(family)' needs another word: \(choices)")
    }

    /// The commands whose names go on after these words.
    private static func members(of words: String) -> [Command] { all.filter { $0.name.hasPrefix(words + " ") } }

    /// The command of that name.
    ///
    /// - Throws: `UsageError` with a suggestion.
    static func named(_ name: String) throws(UsageError) -> Command {
        guard let command = all.first(where: { $0.name == name }) else {
            let families = Set(all.map { String($0.name.prefix { $0 != " " }) })
            let suggestion = Suggestion.phrase(for: name, among: all.map(\.name) + families.sorted())
            throw UsageError("unknown command '\(name.escapedForDisplay)'" + suggestion)
        }
        return command
    }
}
