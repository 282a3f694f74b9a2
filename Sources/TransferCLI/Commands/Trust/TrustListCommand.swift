private import TransferClient
private import TransferKeys
private import TransferModel
private import TransferProtocol

/// `transfer trust`: the list of servers whose keys are known.
struct TrustCommand {
    private enum Action {
        case list(isJSON: Bool)
        case add(KnownServers.Entry)
        case remove(address: String)
    }

    private let action: Action
    private let known: KnownServers

    /// - Throws: `UsageError` for operands that are not what the command takes.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard let known = KnownServers.standard else {
            throw arguments.error("there is no place for a list of known servers; set HOME or XDG_CONFIG_HOME")
        }
        self.known = known
        action =
            switch arguments.command.name {
            case Commands.trustAdd.name: .add(try Self.entry(arguments))
            case Commands.trustRemove.name: .remove(address: try Self.address(arguments, of: 1))
            default: .list(isJSON: arguments.isSet("json"))
            }
    }

    private static func entry(_ arguments: ParsedArguments) throws(UsageError) -> KnownServers.Entry {
        let address = try address(arguments, of: 2)
        let text = arguments.operands[1]
        guard let fingerprint = KeyFingerprint(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not a fingerprint; give SHA256: and 43 characters, as the server logs it"
            )
        }
        return KnownServers.Entry(address: address, fingerprint: fingerprint)
    }

    private static func address(_ arguments: ParsedArguments, of count: Int) throws(UsageError) -> String {
        guard arguments.operands.count == count else {
            throw arguments.error("give \(arguments.command.operands ?? "")")
        }
        let text = arguments.operands[0]
        guard let server = ServerAddress(text), server.folder.isEmpty else {
            throw arguments.error("'\(text.escapedForDisplay)' is not a server; give HOST[:PORT]")
        }
        return server.server
    }

    func run() -> ExitCode {
        do throws(KnownServers.Fault) {
            switch action {
            case .list(let isJSON): try list(isJSON: isJSON)
            case .add(let entry): try add(entry)
            case .remove(let address): return try remove(address)
            }
            return .success
        } catch {
            StandardStream.error.write("transfer: \(error.message)\n")
            return .fault
        }
    }

    private func list(isJSON: Bool) throws(KnownServers.Fault) {
        let lines = try known.entries().map { entry in
            isJSON
                ? "\(entry.json.text)\n"
                : "\(entry.address.escapedForDisplay) \(entry.fingerprint)\(entry.isOwn ? " (this user's own)" : "")\n"
        }
        StandardStream.output.write(lines.joined())
    }

    private func add(_ entry: KnownServers.Entry) throws(KnownServers.Fault) {
        let before = try known.fingerprint(of: entry.address)
        try known.add(entry)
        guard let before, before != entry.fingerprint else { return }
        StandardStream.error.write("\(entry.address.escapedForDisplay) was known by \(before) before.\n")
    }

    private func remove(_ address: String) throws(KnownServers.Fault) -> ExitCode {
        guard try !known.remove(address) else { return .success }
        StandardStream.error.write("transfer: '\(address.escapedForDisplay)' was not known.\n")
        return .uploadsFailed
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
