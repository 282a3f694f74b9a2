internal import TransferClient
private import TransferModel

/// Server, credentials and client configuration of a command that concerns stored files or mailboxes.
struct FilesAccess {
    private let server: ServerAddress
    private let access: PushAccess
    var configuration: ClientConfiguration
    /// Whether the user may be asked to trust an unknown server; false with `--trust-new`.
    private let mayAsk: Bool
    /// Whether the command is about people and mailboxes, so that this user's sealing key is published.
    private let isForPeople: Bool

    /// - Parameters:
    ///   - from: the flag of the command that names the server.
    ///   - quiet: the command's flag for less output.
    ///   - folder: a folder relative to the folder in the server's address.
    ///   - choices: further flags of the command that change the configuration.
    init(
        _ arguments: ParsedArguments, from server: FlagKey<String, Never> = FilesFlags.from,
        quiet: FlagKey<Bool, Never>, below folder: String = "", _ choices: [FlagEffect<ClientConfiguration>] = []
    ) throws(UsageError) {
        let target = try PushTarget(server, arguments)
        guard target.server.web == nil else {
            throw arguments.error("only push works over HTTP; give HOST[:PORT][/FOLDER]")
        }
        self.server = folder.isEmpty ? target.server : target.server.below(folder)
        access = try PushAccess(arguments, target, isQuiet: arguments[quiet])
        var configuration = ClientConfiguration()
        configuration.agent = "transfer/\(transferVersion)"
        configuration.nameAdvice = target.nameAdvice
        for effect in [ClientFlags.retryFor] + choices { try effect(arguments, on: &configuration) }
        self.configuration = configuration
        mayAsk = !arguments[SecurityFlags.trustsNew]
        isForPeople = server.flag == PeopleFlags.to.flag
    }

    /// The server's address, without a folder.
    var serverName: String { server.server }

    /// - Parameters:
    ///   - asker: asks the user about an unknown server.
    ///   - asks: whether the user may be asked. If not, this call also stores nothing, neither on this machine nor on
    ///     the server.
    func client(_ asker: any Asker = PlainAsker(), asks: Bool = true) async throws(TransferFailure) -> TransferClient {
        var configuration = configuration
        try await access.complete(&configuration)
        Interruption.endsAtOnce()
        if asks, mayAsk, let question = TrustQuestion(asker) { configuration.ask(question) }
        guard isForPeople, asks else { return try TransferClient(server: server, configuration: configuration) }
        try SealingAccess.complete(&configuration)
        let client = try TransferClient(server: server, configuration: configuration)
        try await client.introduce()
        return client
    }
}

extension TransferFailure {
    /// Prints why a command failed.
    ///
    /// - Parameter isJSON: whether the command prints JSON.
    /// - Returns: the exit code of the command.
    func tell(isJSON: Bool = false) -> ExitCode {
        if isJSON { StandardStream.output.write(FailureDocument.json(self).text + "\n") }
        StandardStream.error.write("transfer: \(message.escapedForDisplay)\n")
        if let hint = remedy?.line() { StandardStream.error.write("\(hint)\n") }
        return reason.exitCode
    }
}
