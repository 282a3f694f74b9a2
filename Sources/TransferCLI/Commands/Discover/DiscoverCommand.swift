private import TransferClient
private import TransferModel

/// `transfer discover`: prints the servers that answer on the local network.
struct DiscoverCommand {
    private let search: ServerSearch
    private let isJSON: Bool

    /// - Throws: `UsageError` for invalid addresses to ask.
    init(_ arguments: ParsedArguments) throws(UsageError) {
        search = try DiscoverFlags.search(arguments)
        isJSON = arguments[DiscoverFlags.json]
    }

    func run() async -> ExitCode {
        Interruption.endsAtOnce()
        do throws(TransferFailure) {
            let servers = try await search.servers()
            guard !servers.isEmpty else {
                StandardStream.error.write(
                    "transfer: no server answered; only servers started with --discover do\n")
                return .unreachable
            }
            show(servers)
            return .success
        } catch {
            return error.tell(isJSON: isJSON)
        }
    }

    private func show(_ servers: [FoundServer]) {
        if isJSON {
            StandardStream.output.write(servers.map { $0.json.text + "\n" }.joined())
        } else {
            StandardStream.output.write(TextTable.lines(servers.map(\.row)))
        }
    }
}

extension FoundServer {
    private var host: String {
        // Removes the port, and the brackets, which an address needs only before a port.
        let text = address.server
        let end = text.utf8.lastIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        let host = text[..<end]
        return host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : String(host)
    }

    fileprivate var row: [String] {
        [
            name.escapedForDisplay, host.escapedForDisplay, ports.map { "\($0)" }.joined(separator: ","),
            fingerprint?.description ?? "no encryption", trust.words,
        ]
    }

    /// The object of `--json`; every member is always present.
    fileprivate var json: JSONLine {
        [
            "schema": .string(JSONSchema.server), "name": .string(name), "address": .string(host),
            "port": .integer(UInt64(ports[0])), "ports": .array(ports.map { .integer(UInt64($0)) }),
            "addresses": .array(addresses.map { .string($0.server) }),
            "fingerprint": fingerprint.map { .string($0.description) } ?? .null,
            "encrypted": .bool(fingerprint != nil), "trust": .string(trust.rawValue),
        ]
    }
}

extension FoundServer.Trust {
    fileprivate var words: String {
        switch self {
        case .trusted: "trusted"
        case .keyChanged: "KEY HAS CHANGED"
        case .unknown: "unknown"
        }
    }
}

extension DiscoverCommand: ProgramCommand {
    static let definition = Command(
        name: "discover", summary: "Find servers on the local network.",
        description: [
            "Asks this machine and all machines on its networks, by an IPv4 broadcast and an IPv6 "
                + "multicast that routers do not forward, and prints a line for each server that answers: its "
                + "name, address, port, the fingerprint of its key, and whether the list of known servers has "
                + "that key for the address. Only servers started with 'transfer serve --discover' answer.",
            "Answers are not protected: anyone on the network can send one, with any name and "
                + "fingerprint. Later connections are protected as always: see 'transfer help trust list'.",
            "'transfer push --to discover:NAME' finds a server by its name, and so do all commands that "
                + "take a server. The environment and configuration of this command apply to them, too.",
        ],
        flags: DiscoverFlags.all,
        examples: [
            .init(caption: "Find servers", line: "transfer discover"),
            .init(caption: "Ask the network behind a router", line: "transfer discover --at 192.168.7.255"),
            .init(caption: "Wait longer, and print JSON for a script", line: "transfer discover --wait 5s --json"),
        ],
        outcomes: [
            .init(.success, "a server was found"), .init(.usage),
            .init(.unreachable, "no server answered, or none could be asked"),
            .init(.accessRefused, "the list of known servers could not be read"),
        ])
}
