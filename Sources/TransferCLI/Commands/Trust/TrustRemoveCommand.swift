internal import TransferClient
private import TransferModel

/// `transfer trust remove`: forgets the key of a server.
struct TrustRemoveCommand {
    private let known: KnownServers
    private let address: String

    /// - Throws: `UsageError` unless the operand is an address.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        known = try KnownServers.own(arguments)
        address = try KnownServers.address(arguments, of: 1)
    }

    func run() -> ExitCode {
        KnownServers.run { () throws(KnownServers.Fault) in
            guard try !known.remove(address) else { return .success }
            StandardStream.error.write("transfer: '\(address.escapedForDisplay)' was not known.\n")
            return .uploadsFailed
        }
    }
}

extension TrustRemoveCommand: ProgramCommand {
    static let definition = Command(
        name: "trust remove", summary: "Forget the key of a server.", operands: "HOST[:PORT]",
        description: [KnownServers.about, "The next push treats the server as unknown."],
        flags: [.insecurePermissions, .help],
        examples: [.init(caption: "Forget a server that was reinstalled", line: "transfer trust remove nas.local")],
        outcomes: [.init(.success), .init(.uploadsFailed, "the server was not known")]
            + KnownServers.outcomes.dropFirst())
}
