internal import TransferClient
private import TransferModel

/// How commands for stored files come to their server.
struct FilesAccess {
    private let server: ServerAddress
    private let access: PushAccess
    private let configuration: ClientConfiguration
    /// Whether an unknown server may be asked about.
    private let mayAsk: Bool

    /// - Parameter change: sets what the command lets choose.
    init(
        _ arguments: ParsedArguments, _ change: (inout ClientConfiguration) throws(UsageError) -> Void = { _ in }
    ) throws(UsageError) {
        let target = try PushTarget(
            arguments.requiredString("from"), of: arguments.source(of: "from"), arguments)
        server = target.server
        access = try PushAccess(arguments, target)
        var configuration = ClientConfiguration()
        configuration.retryFor = try arguments.duration("retry-for")
        configuration.agent = "transfer/\(transferVersion)"
        try change(&configuration)
        self.configuration = configuration
        mayAsk = !arguments.isSet("trust-new")
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
