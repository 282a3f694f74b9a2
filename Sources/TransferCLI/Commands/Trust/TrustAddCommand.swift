internal import TransferClient
private import TransferKeys
private import TransferModel

/// `transfer trust add`: adds a server's key to the known ones.
struct TrustAddCommand {
    private let known: KnownServers
    private let entry: KnownServers.Entry

    /// - Throws: `UsageError` unless the operands are an address and a fingerprint.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        known = try KnownServers.own(arguments)
        let address = try KnownServers.address(arguments, of: 2)
        let text = arguments.operands[1]
        guard let fingerprint = KeyFingerprint(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a fingerprint; give SHA256: and 43 characters, as the server logs it"
            )
        }
        entry = KnownServers.Entry(address: address, fingerprint: fingerprint)
    }

    func run() -> ExitCode {
        KnownServers.run { () throws(KnownServers.Fault) in
            let before = try known.fingerprint(of: entry.address)
            try known.add(entry)
            if let before, before != entry.fingerprint {
                StandardStream.error.write("The known key of \(entry.address.escapedForDisplay) was \(before).\n")
            }
            return .success
        }
    }
}

extension TrustAddCommand: ProgramCommand {
    static let definition = Command(
        name: "trust add", summary: "Add a server's key to the known ones.", operands: "HOST[:PORT] FINGERPRINT",
        description: [
            KnownServers.about,
            "The server logs its fingerprint when it starts. A previous key is replaced.",
        ],
        flags: [.insecurePermissions, .help],
        examples: [
            .init(
                caption: "Add a server before the first push",
                line: "transfer trust add nas.local SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5…")
        ],
        outcomes: KnownServers.outcomes)
}
