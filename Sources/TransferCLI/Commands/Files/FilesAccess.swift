internal import TransferClient
private import TransferModel

/// How commands for stored files come to their server.
struct FilesAccess {
    private let server: ServerAddress
    private let access: PushAccess
    var configuration: ClientConfiguration
    /// Whether an unknown server may be asked about.
    private let mayAsk: Bool
    /// Whether it is for people and mailboxes, where others may want to seal for this user.
    private let isForPeople: Bool

    /// - Parameters:
    ///   - from: the flag of the command that names the server.
    ///   - quiet: the flag of the command.
    ///   - folder: below that of the server's address.
    ///   - choices: what else the command lets choose.
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
    ///   - asker: who is asked about an unknown server.
    ///   - asks: whether anybody is; otherwise nothing is left behind here or there either.
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
    /// Says why a command could not do its work.
    ///
    /// - Parameter isJSON: whether programs read what it prints.
    /// - Returns: what it exits with.
    func tell(isJSON: Bool = false) -> ExitCode {
        if isJSON { StandardStream.output.write(FailureDocument.json(self).text + "\n") }
        StandardStream.error.write("transfer: \(message.escapedForDisplay)\n")
        if let hint = remedy?.line() { StandardStream.error.write("\(hint)\n") }
        return reason.exitCode
    }
}
