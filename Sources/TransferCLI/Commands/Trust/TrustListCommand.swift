internal import TransferClient
private import TransferModel

/// `transfer trust list`: prints the servers whose keys are known.
struct TrustListCommand {
    private let known: KnownServers
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        known = try KnownServers.own(arguments)
        isJSON = arguments[Self.json]
    }

    func run() -> ExitCode {
        KnownServers.run { () throws(KnownServers.Fault) in
            let lines = try known.entries().map { entry in
                let own = entry.isOwn ? " (this user's own)" : ""
                return isJSON
                    ? "\(entry.json.text)\n" : "\(entry.address.escapedForDisplay) \(entry.fingerprint)\(own)\n"
            }
            StandardStream.output.write(lines.joined())
            return .success
        }
    }
}

extension KnownServers.Entry {
    /// The object of `--json`; every key is always there.
    fileprivate var json: JSONLine {
        [
            "schema": .string(JSONSchema.trust), "address": .string(address),
            "fingerprint": .string(fingerprint.description), "own": .bool(isOwn),
        ]
    }
}

extension TrustListCommand: ProgramCommand {
    private static let json = Flag(
        name: "json", help: "Print one JSON object per line for every server.", reach: .environment
    ).isOn

    static let definition = Command(
        name: "trust list", summary: "List known servers and their keys.",
        description: [KnownServers.about, "Prints an address and a fingerprint per line."],
        flags: [json.flag, .insecurePermissions, .help],
        examples: [.init(caption: "List the known servers", line: "transfer trust list")],
        outcomes: KnownServers.outcomes)
}
