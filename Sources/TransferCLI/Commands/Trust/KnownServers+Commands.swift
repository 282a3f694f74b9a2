internal import TransferClient
private import TransferModel
private import TransferProtocol
private import TransferSystem

/// Texts and functions that the commands for known servers share.
extension KnownServers {
    static let about =
        "The list of known servers has the key of each address. 'transfer push' refuses a known server "
        + "with another key. The list is the file transfer/known_servers below XDG_CONFIG_HOME, or below "
        + "~/.config."

    static let outcomes: [Command.Outcome] = [
        .init(.success), .init(.usage), .init(.fault, "the list could not be read or changed"),
    ]

    /// The list of known servers of the user who runs the command.
    static func own(_ arguments: ParsedArguments) throws(UsageError) -> KnownServers {
        guard let known = standard else {
            throw arguments.error(
                "there is nowhere to keep the list of known servers: "
                    + "\(ConfigurationFolder.absence.escapedForDisplay)")
        }
        return known
    }

    /// The server's address, which is the first operand.
    ///
    /// - Parameter count: the required number of operands.
    static func address(_ arguments: ParsedArguments, of count: Int) throws(UsageError) -> String {
        guard arguments.operands.count == count else {
            throw arguments.error("give \(arguments.command.operands ?? "")")
        }
        let text = arguments.operands[0]
        guard let server = ServerAddress(text), server.folder.isEmpty else {
            throw arguments.error("'\(text.escapedForDisplay)' is not a server; give HOST[:PORT]")
        }
        return server.server
    }

    /// Runs the body of a command, and prints the message of a fault.
    static func run(_ body: () throws(Fault) -> ExitCode) -> ExitCode {
        do throws(Fault) {
            return try body()
        } catch {
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }
}
