private import TransferModel
internal import TransferServer
private import TransferSystem

/// Rereads the settings of a running server, and applies those that can change.
final class ServeReload: Sendable {
    private let started: ParsedArguments
    /// The current settings, which were read at the start or at the latest reload.
    private let current: Locked<ParsedArguments>
    private let access: ServeAccess

    init(_ arguments: ParsedArguments, _ access: ServeAccess) {
        started = arguments
        current = Locked(arguments)
        self.access = access
    }

    /// Reads everything before it changes anything, so that an error leaves the settings as they were.
    func run(_ server: Server) async {
        await server.reload { [self] () throws(ServerError) in
            try read()
        } whenShown: { [access] key in
            access.keep(key)
        }
    }

    private func read() throws(ServerError) -> ServerReload {
        let (arguments, command) = try parsed()
        let flags = arguments.command.flags
        let changes = flags.filter { flag in
            isChangeable(flag, arguments) && current.withLock { $0.said(by: flag) } != arguments.said(by: flag)
        }
        let fixed = flags.filter { flag in
            !isChangeable(flag, arguments) && started.said(by: flag) != arguments.said(by: flag)
        }
        return ServerReload(
            configuration: command.configuration, logFormat: command.logFormat, logLevel: command.logLevel,
            changes: changes.map(\.name), fixed: fixed.map(\.name)
        ) { [self] in current.withLock { $0 = arguments } }
    }

    private func parsed() throws(ServerError) -> (ParsedArguments, ServeCommand) {
        do throws(UsageError) {
            let invocation = try Invocation(Array(CommandLine.arguments.dropFirst()), sources: Environment.sources)
            guard case .run(let arguments) = invocation, arguments.command == started.command else {
                throw UsageError("the command line has changed")
            }
            return (arguments, try ServeCommand(arguments))
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Whether a flag can be changed while the server runs. `--quota` and `--min-free` can be changed only if there was
    /// such a limit at the start.
    private func isChangeable(_ flag: Flag, _ arguments: ParsedArguments) -> Bool {
        let (quota, minimumFree) = (ServeFlags.quota.flag, ServeFlags.minimumFree.flag)
        return switch flag {
        case quota: started.isSet(quota) && arguments.isSet(quota)
        case minimumFree: started.isSet(minimumFree) || started.isSet(quota)
        default: flag.isChangeable
        }
    }
}

extension ParsedArguments {
    /// The values of a flag or switch, for comparisons.
    fileprivate func said(by flag: Flag) -> [String] { flag.isSwitch ? ["\(isSet(flag))"] : values(of: flag) }
}
