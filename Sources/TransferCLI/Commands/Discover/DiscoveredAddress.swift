internal import TransferClient
internal import TransferKeys
internal import TransferModel
internal import TransferProtocol

/// What discovery says about the encryption of a server.
enum FoundIdentity {
    /// The server uses TLS with this key.
    case key(KeyFingerprint)
    case withoutEncryption
}

/// A server given by the name that it announces: `discover:NAME[:PORT][/FOLDER]`. Another colon may precede the slash.
struct DiscoveredAddress: Equatable {
    static let scheme = "discover:"

    let name: DiscoveryName

    /// The UDP port to which probes are sent; nil for the port of `transfer discover`.
    let port: UInt16?

    /// The folder without slashes at its ends; empty for the server's top folder.
    let folder: String

    /// Reads the text by bytes: as characters, a combining mark would join with the separator before it.
    ///
    /// - Returns: nil for other texts. `discover:1234` is the port of a host named `discover`, and `discover:/FOLDER`
    ///   is a folder of a remote with that name.
    init?(_ text: String) {
        guard text.utf8.starts(with: Self.scheme.utf8) else { return nil }
        let rest = text.utf8.dropFirst(Self.scheme.utf8.count)
        let whole = rest.prefix { $0 != UInt8(ascii: "/") }
        let path = rest[whole.endIndex...]
        let head = whole.last == UInt8(ascii: ":") && !path.isEmpty ? whole.dropLast() : whole
        let parts = head.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first.flatMap({ DiscoveryName(String(Substring($0))) }) else { return nil }
        if parts.count == 2 {
            guard parts[1].allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(Substring(parts[1])), port > 0
            else {
                return nil
            }
            self.port = port
        } else {
            port = nil
        }
        self.name = name
        folder = path.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }.joined(separator: "/")
    }

    /// The text without the folder.
    var server: String { Self.scheme + name.text + (port.map { ":\($0)" } ?? "") }

    /// Searches the network for the server. Blocks.
    ///
    /// - Throws: `UsageError` with a matching exit code if no server has the name, or more than one has it: a client
    ///   must not guess.
    func find(_ arguments: ParsedArguments) throws(UsageError) -> (server: ServerAddress, identity: FoundIdentity) {
        let search = try DiscoverFlags.search(Self.settings(), port: port)
        let servers: [FoundServer]
        do throws(TransferFailure) {
            servers = try search.look()
        } catch {
            throw arguments.failure(error.message, error.reason.exitCode)
        }
        let found = servers.filter { $0.name.hasSameBytes(as: name.text) }
        guard let server = found.first else {
            throw arguments.failure(
                "No server called '\(name.text)' answered. 'transfer discover' shows those that do.", .unreachable)
        }
        guard found.count == 1 else {
            let list = found.map { "\($0.address.server) (\($0.fingerprint?.description ?? "without encryption"))" }
            let command = RepeatedCommand().line { word in address(of: server, inPlaceOf: word) }
            throw arguments.failure(
                "\(found.count) servers call themselves '\(name.text)': \(list.joined(separator: ", ")). Give the address of "
                    + "the one that you mean\(command.map { ", as for the first: \($0)" } ?? ".")", .accessRefused)
        }
        return (
            ServerAddress(server.address.endpoint, folder: folder),
            server.fingerprint.map { .key($0) } ?? .withoutEncryption
        )
    }

    /// A word of the command line in which the server's name is replaced by an address.
    ///
    /// - Returns: nil for a word that does not contain the name.
    private func address(of server: FoundServer, inPlaceOf word: String) -> String? {
        guard let found = DiscoveredAddress(word), found.name.text.hasSameBytes(as: name.text) else { return nil }
        return "\(server.address.server):/\(found.folder)"
    }

    /// The settings of `transfer discover` in the environment and configuration.
    private static func settings() throws(UsageError) -> ParsedArguments {
        try ArgumentParser.parse([], command: DiscoverCommand.definition, sources: Environment.sources)
    }
}
