private import TransferClient
private import TransferModel

/// The table of all commands of the program.
enum Commands {
    /// The default address of `serve` and of commands that take a server.
    static let defaultAddress = "127.0.0.1:\(ServerAddress.defaultPort)"

    static let version = Flag(name: "version", short: "V", help: "Print the version and exit.", reach: .nowhere)

    /// The program itself, with the flags that it takes without a command.
    static let program = Command(
        name: "", summary: "Sends files to a server that acknowledges each one once it is safely stored.",
        operands: "COMMAND",
        flags: [.help, version],
        outcomes: ExitCode.allCases.map { .init($0) })

    static let help = Command(
        name: "help", summary: "Describe a command and its flags.", operands: "[COMMAND]",
        description: ["Without a command, lists the commands."], flags: [.help],
        outcomes: [.init(.success, "the help was printed"), .init(.usage)], operandValue: .command)

    /// The commands in the order of the help.
    static let types: [any ProgramCommand.Type] = [
        ServeCommand.self, PushCommand.self, WatchCommand.self, PullCommand.self, SyncCommand.self, CheckCommand.self,
        ListCommand.self,
        StatCommand.self, UsageCommand.self, CatCommand.self,
        MakeDirectoryCommand.self, CopyCommand.self, MoveCommand.self, RemoveCommand.self,
        TrashListCommand.self, TrashRestoreCommand.self, TrashEmptyCommand.self, InboxCommand.self, ReceiveCommand.self,
        SentCommand.self, PeopleCommand.self,
        WhoamiCommand.self,
        DiscoverCommand.self, KeyCommand.self, TrustListCommand.self, TrustAddCommand.self,
        TrustRemoveCommand.self,
        AccessListCommand.self, AccessAddCommand.self, AccessRemoveCommand.self, AccessPairCommand.self,
        TokenCreateCommand.self, TokenListCommand.self, TokenRevokeCommand.self, VerifyReceiptsCommand.self,
        ShowReceiptsCommand.self, VerifyCommand.self, CatalogRebuildCommand.self, StatusCommand.self,
        RemoteAddCommand.self, RemoteListCommand.self, RemoteRemoveCommand.self, ConfigShowCommand.self,
        CompletionsCommand.self,
        ManCommand.self,
    ]

    static let all = types.map { $0.definition } + [help]

    /// The flags that a remote can set. These are the flags of all commands that connect to servers, each once.
    static var remoteFlags: [Flag] {
        var flags: [Flag] = []
        let talking = all.filter { $0.flags.contains { $0.value == .server } }
        let servers = talking.flatMap { $0.flags.filter { $0.value == .server }.map(\.name) }
        for command in talking {
            flags += command.flags.filter { flag in
                !servers.contains(flag.name) && !flags.contains { $0.name == flag.name }
            }
        }
        return flags
    }

    /// Flags whose key in configuration files is shared by several commands, one flag for each key.
    static var sharedFlags: [Flag] {
        all.flatMap(\.flags).reduce(into: []) { flags, flag in
            guard flag.sharedKey != nil, !flags.contains(where: { $0.sharedKey == flag.sharedKey }) else { return }
            flags.append(flag)
        }
    }

    /// Finds the command with whose name the arguments begin, and removes its one or more words.
    ///
    /// - Parameter arguments: at least one.
    /// - Throws: `UsageError` with a suggestion.
    static func taken(from arguments: inout ArraySlice<String>) throws(UsageError) -> Command {
        let longest = all.map(\.words).max() ?? 1
        let names = (1...longest).map { arguments.prefix($0).joined(separator: " ") }
        for (index, name) in names.enumerated().reversed() {
            guard let command = all.first(where: { $0.names.contains(name) }) else { continue }
            arguments = arguments.dropFirst(index + 1)
            return command
        }
        guard let stem = names.last(where: CommandTree.isStem) else { return try named(names[0]) }
        let choices = CommandTree.words(after: stem).map(\.text)
        arguments = arguments.dropFirst(stem.split(separator: " ").count)
        guard let word = arguments.first, !word.hasPrefix("-") else {
            let message = "'\(stem)' needs a subcommand: \(choices.joined(separator: ", "))"
            throw UsageError(message, helpInvocation: "transfer help \(stem)")
        }
        let suggestion = Suggestion.closest(to: word, among: choices).map { "; did you mean '\(stem) \($0)'?" }
        throw UsageError(
            "unknown command '\(stem) \(word.escapedForDisplay)'" + (suggestion ?? ""),
            helpInvocation: "transfer help \(stem)")
    }

    /// The command with exactly these words as its name.
    ///
    /// - Throws: `UsageError` with a suggestion.
    static func named(_ words: [String]) throws(UsageError) -> Command {
        var rest = words[...]
        let command = try taken(from: &rest)
        guard let surplus = rest.first else { return command }
        throw UsageError("unexpected word '\(surplus.escapedForDisplay)' after '\(command.name)'")
    }

    /// The command with that name or alias.
    ///
    /// - Throws: `UsageError` with a suggestion.
    static func named(_ name: String) throws(UsageError) -> Command {
        guard let command = all.first(where: { $0.names.contains(name) }) else {
            let families = Set(all.map { String($0.name.prefix { $0 != " " }) })
            let suggestion = Suggestion.phrase(for: name, among: all.flatMap(\.names) + families.sorted())
            throw UsageError("unknown command '\(name.escapedForDisplay)'" + suggestion)
        }
        return command
    }
}
