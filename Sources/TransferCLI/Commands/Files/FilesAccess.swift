internal import TransferClient
private import TransferModel

/// How commands for stored files come to their server.
struct FilesAccess {
    private let server: ServerAddress
    private let access: PushAccess
    private let configuration: ClientConfiguration
    /// Whether an unknown server may be asked about.
    private let mayAsk: Bool

    /// - Parameters:
    ///   - quiet: the flag of the command.
    ///   - choices: what else the command lets choose.
    init(
        _ arguments: ParsedArguments, quiet: FlagKey<Bool, Never>, _ choices: [FlagEffect<ClientConfiguration>] = []
    ) throws(UsageError) {
        let target = try PushTarget(FilesFlags.from, arguments)
        server = target.server
        access = try PushAccess(arguments, target, isQuiet: arguments[quiet])
        var configuration = ClientConfiguration()
        configuration.agent = "transfer/\(transferVersion)"
        for effect in [ClientFlags.retryFor] + choices { try effect(arguments, on: &configuration) }
        self.configuration = configuration
        mayAsk = !arguments[SecurityFlags.trustsNew]
    }

    /// - Parameter asker: who is asked about an unknown server.
    func client(_ asker: any Asker = PlainAsker()) async throws(PushFailure) -> TransferClient {
        var configuration = configuration
        try await access.complete(&configuration)
        if mayAsk, let question = TrustQuestion(asker) { configuration.ask(question) }
        return try TransferClient(server: server, configuration: configuration)
    }
}

extension PushFailure {
    /// Says why a command could not do its work.
    ///
    /// - Returns: what it exits with.
    func tell() -> ExitCode {
        StandardStream.error.write("transfer: \(message.escapedForDisplay)\n")
        return reason.exitCode
    }
}
