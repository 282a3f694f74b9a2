internal import TransferClient
private import TransferModel
private import TransferProtocol

/// What the commands for known servers have in common.
extension KnownServers {
    static let about =
        "The list of known servers says which key belongs to which address. 'transfer push' refuses a known server that shows "
        + "another one. It is the file transfer/known_servers below XDG_CONFIG_HOME, or below ~/.config."

    static let outcomes: [Command.Outcome] = [
        .init(.success), .init(.usage), .init(.fault, "the list could not be read or changed"),
    ]

    /// Says what is wrong with the list.
    static func run(_ body: () throws(Fault) -> ExitCode) -> ExitCode {
        do throws(Fault) {
            return try body()
        } catch {
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }
}

extension ParsedArguments {
    /// The user's list.
    var knownServers: KnownServers {
        get throws(UsageError) {
            guard let known = KnownServers.standard else {
                throw error("there is no place for a list of known servers; set HOME or XDG_CONFIG_HOME")
            }
            return known
        }
    }

    /// The first operand.
    ///
    /// - Parameter count: how many there have to be.
    func knownAddress(of count: Int) throws(UsageError) -> String {
        guard operands.count == count else { throw error("give \(command.operands ?? "")") }
        let text = operands[0]
        guard let server = ServerAddress(text), server.folder.isEmpty else {
            throw error("'\(text.escapedForDisplay)' is not a server; give HOST[:PORT]")
        }
        return server.server
    }
}
