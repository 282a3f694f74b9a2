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

    static let all = [
        serve, push, trustList, trustAdd, trustRemove, receiptVerify, receiptShow, verify, help,
    ]

    /// Takes the name of a command, one word or two, off the front of the arguments.
    ///
    /// - Parameter arguments: one at least.
    /// - Throws: `UsageError` with a suggestion.
    static func taken(from arguments: inout ArraySlice<String>) throws(UsageError) -> Command {
        let first = arguments.first ?? ""
        let family = all.filter { $0.name.hasPrefix(first + " ") }
        guard !family.isEmpty else {
            arguments = arguments.dropFirst()
            return try named(first)
        }
        let second = arguments.dropFirst().first ?? ""
        guard let command = family.first(where: { $0.name == "\(first) \(second)" }) else {
            let names = family.map { "'\($0.name)'" }.joined(separator: " or ")
            throw UsageError("'\(first)' needs another word: \(names)")
        }
        arguments = arguments.dropFirst(2)
        return command
    }

    /// The command of that name.
    ///
    /// - Throws: `UsageError` with a suggestion.
    static func named(_ name: String) throws(UsageError) -> Command {
        guard let command = all.first(where: { $0.name == name }) else {
            let suggestion = Suggestion.phrase(for: name, among: all.map(\.name))
            throw UsageError("unknown command '\(name.escapedForDisplay)'" + suggestion)
        }
        return command
    }
}
