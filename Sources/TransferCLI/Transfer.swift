internal import Glibc
private import TransferGallery
private import TransferIO
private import TransferSystem

/// The entry point of the program.
@main
struct Transfer {
    /// `main` is not asynchronous: the runtime would hand the main thread to Dispatch, which unblocks all signals on
    /// it, but the commands need them blocked.
    static func main() {
        if let code = GalleryProcess.run() { _exit(code) }
        StandardStream.occupyClosed()
        FileTrust.isWaived = Environment.waivesFileTrust(Array(CommandLine.arguments.dropFirst()))
        // Only a server rereads its files at SIGHUP; other commands end at it, as usual.
        let isServer = CommandLine.arguments.dropFirst().first == ServeCommand.definition.name
        ExitSignals.block(hangUp: isServer)
        // This must run before any other thread starts.
        if isServer, let code = Supervision.run() { _exit(code) }
        // The process does not end with exit(3), because OpenSSL would free its tables while other threads still use
        // them. No buffer has to be flushed here.
        Task.detached {
            let code = await execute()
            guard isServer else { Interruption.end(code) }
            _exit(code.rawValue)
        }
        while true { pause() }
    }

    private static func execute() async -> ExitCode {
        do throws(UsageError) {
            return try await run(
                Invocation(Array(CommandLine.arguments.dropFirst()), sources: Environment.sources))
        } catch {
            StandardStream.error.write(error.report)
            return error.code
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
        guard let type = Commands.types.first(where: { $0.definition == arguments.command }) else {
            throw arguments.error("'\(arguments.command.name)' cannot be run")
        }
        return try await type.init(arguments).run()
    }
}
