private import TransferModel
internal import TransferServer
private import TransferSystem

/// Reads what a running server was told once more, and lets it change what it can.
final class ServeReload: Sendable {
    /// What takes effect while the server runs; the others want another server. A quota and `--min-free` only where there
    /// was one before.
    private static let changeable: Set<String> = [
        "max-upload", "quota", "min-free", "expire-unfinished", "max-per-address", "silence-timeout", "idle-timeout",
        "handshake-timeout", "min-rate", "drain-timeout", "log-level", "log-format",
    ]

    private let started: ParsedArguments
    /// What holds: as it was started, or as it was told last.
    private let current: Locked<ParsedArguments>
    private let access: ServeAccess

    init(_ arguments: ParsedArguments, _ access: ServeAccess) {
        started = arguments
        current = Locked(arguments)
        self.access = access
    }

    /// Reads everything before it changes anything: what is wrong leaves all as it was.
    func run(_ server: Server) async {
        await server.reload { [self] () throws(ServerError) in
            try read()
        } whenShown: { [access] key in
            access.keep(key)
        }
    }

    private func read() throws(ServerError) -> ServerReload {
        let (arguments, command) = try parsed()
        let flags = arguments.command.flags.map(\.name)
        let changes = flags.filter { name in
            isChangeable(name, arguments) && current.withLock { $0.values(of: name) } != arguments.values(of: name)
        }
        let fixed = flags.filter { !isChangeable($0, arguments) && started.values(of: $0) != arguments.values(of: $0) }
        return ServerReload(
            configuration: command.configuration, logFormat: command.logFormat, logLevel: command.logLevel,
            changes: changes, fixed: fixed
        ) { [self] in current.withLock { $0 = arguments } }
    }

    private func parsed() throws(ServerError) -> (ParsedArguments, ServeCommand) {
        do throws(UsageError) {
            let invocation = try Invocation(Array(CommandLine.arguments.dropFirst()), sources: Environment.sources)
            guard case .run(let arguments) = invocation, arguments.command == started.command else {
                throw UsageError("the command line is no longer what it was")
            }
            return (arguments, try ServeCommand(arguments))
        } catch {
            throw ServerError(error.message)
        }
    }

    private func isChangeable(_ name: String, _ arguments: ParsedArguments) -> Bool {
        switch name {
        case "quota": started.isSet(name) && arguments.isSet(name)
        case "min-free": started.isSet(name) || started.isSet("quota")
        default: Self.changeable.contains(name)
        }
    }
}

extension ParsedArguments {
    /// What a flag says, of whatever kind it is.
    fileprivate func values(of name: String) -> [String] {
        command.flag(named: name)?.isSwitch == true ? ["\(isSet(name))"] : strings(name)
    }
}
