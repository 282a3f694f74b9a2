internal import Glibc
private import TransferIO

/// The program.
@main
struct Transfer {
    /// Not an asynchronous `main`: the runtime would give the main thread to Dispatch, which lets all signals through
    /// on it, and the commands rely on those that they have blocked.
    static func main() {
        StandardStream.occupyClosed()
        // A server reads its files again at SIGHUP; other commands end, as everybody expects.
        let isServer = CommandLine.arguments.dropFirst().first == Commands.serve.name
        ExitSignals.block(hangUp: isServer)
        // Before there is any other thread.
        if isServer, let code = Supervision.run() { _exit(code) }
        // Not exit(3): OpenSSL would free its tables while other threads still give back what they have of it. Nothing is
        // left to be flushed.
        Task.detached { _exit(await execute().rawValue) }
        while true { pause() }
    }

    private static func execute() async -> ExitCode {
        do throws(UsageError) {
            return try await run(
                Invocation(Array(CommandLine.arguments.dropFirst()), sources: Environment.sources))
        } catch {
            StandardStream.error.write(error.report)
            return .usage
        }
    }

    private static func run(_ invocation: Invocation) async throws(UsageError) -> ExitCode {
        switch invocation {
        case .help(let command):
            StandardStream.output.write(command.map(HelpText.page(for:)) ?? HelpText.overview())
        case .briefHelp(let command): StandardStream.output.write(HelpText.brief(for: command))
        case .helpAbout(let stem): StandardStream.output.write(HelpText.list(after: stem))
        case .version:
            StandardStream.output.write("transfer \(transferVersion)\n")
        case .run(let arguments):
            return try await run(arguments)
        }
        return .success
    }

    private static func run(_ arguments: ParsedArguments) async throws(UsageError) -> ExitCode {
        switch arguments.command.name {
        case Commands.serve.name: return try await ServeCommand(arguments).run()
        case Commands.push.name: return try await PushCommand(arguments).run()
        case Commands.pull.name: return try await PullCommand(arguments).run()
        case Commands.list.name: return try await ListCommand(arguments).run()
        case Commands.stat.name: return try await StatCommand(arguments).run()
        case Commands.cat.name: return try await CatCommand(arguments).run()
        case Commands.remove.name: return try await RemoveCommand(arguments).run()
        case Commands.key.name: return try KeyCommand(arguments).run()
        case Commands.accessList.name: return try AccessListCommand(arguments).run()
        case Commands.accessAdd.name: return try AccessAddCommand(arguments).run()
        case Commands.accessRemove.name: return try AccessRemoveCommand(arguments).run()
        case Commands.accessPair.name: return try AccessPairCommand(arguments).run()
        case Commands.tokenCreate.name: return try TokenCreateCommand(arguments).run()
        case Commands.tokenList.name: return try TokenListCommand(arguments).run()
        case Commands.tokenRevoke.name: return try TokenRevokeCommand(arguments).run()
        case Commands.trustList.name, Commands.trustAdd.name, Commands.trustRemove.name:
            return try TrustCommand(arguments).run()
        case Commands.receiptVerify.name: return try VerifyReceiptsCommand(arguments).run()
        case Commands.receiptShow.name: return try ShowReceiptsCommand(arguments).run()
        case Commands.remoteAdd.name: return try await RemoteAddCommand(arguments).run()
        case Commands.remoteList.name: return try RemoteListCommand(arguments).run()
        case Commands.remoteRemove.name: return try RemoteRemoveCommand(arguments).run()
        case Commands.configShow.name: return try ConfigShowCommand(arguments, Environment.sources).run()
        case Commands.man.name: return try ManCommand(arguments).run()
        case Commands.completions.name: return try CompletionsCommand(arguments).run()
        case Commands.status.name: return try StatusCommand(arguments).run()
        case Commands.verify.name: return try await VerifyCommand(arguments).run()
        default: throw arguments.error("'\(arguments.command.name)' cannot be run")
        }
    }
}
