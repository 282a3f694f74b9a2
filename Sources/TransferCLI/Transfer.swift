internal import Glibc
private import TransferIO

/// The program.
@main
struct Transfer {
    static func main() async {
        ExitSignals.block()
        do throws(UsageError) {
            let invocation = try Invocation(
                Array(CommandLine.arguments.dropFirst()), environment: Environment.values(for:))
            exit(try await run(invocation).rawValue)
        } catch {
            StandardStream.error.write(error.report)
            exit(ExitCode.usage.rawValue)
        }
    }

    private static func run(_ invocation: Invocation) async throws(UsageError) -> ExitCode {
        switch invocation {
        case .help(let command):
            StandardStream.output.write(command.map(HelpText.page(for:)) ?? HelpText.overview())
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
        default: throw arguments.error("'\(arguments.command.name)' cannot be run")
        }
    }
}
