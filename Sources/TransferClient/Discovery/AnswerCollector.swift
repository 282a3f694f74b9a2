package import TransferIO
import TransferModel
package import TransferProtocol

/// Collects the answers to one question. Sans-IO.
package struct AnswerCollector {
    /// The most servers to keep; answers of others are dropped. Each takes some 300 bytes.
    static let mostServers = 256

    /// The most addresses to keep of one server.
    static let mostAddresses = 16

    private let nonce: DiscoveryNonce
    /// The servers in the order of their first answers.
    private var found: [(answer: DiscoveryAnswer, hosts: [Host])] = []

    /// The address that an answer came from.
    private struct Host: Equatable {
        let address: IPAddress
        /// The address as text, with the interface if it is link-local.
        let text: String
    }

    /// - Parameter nonce: the nonce of the question.
    package init(_ nonce: DiscoveryNonce) {
        self.nonce = nonce
    }

    /// Takes a datagram, which is ignored unless it answers this question. Equal answers come from one server with
    /// several addresses.
    package mutating func take(_ bytes: ArraySlice<UInt8>, from source: SocketAddress) {
        guard case .answer(let answer)? = try? DiscoveryDatagram.decode(bytes), answer.nonce == nonce,
            let address = IPAddress(source), case .internet(let text, _)? = source.endpoint
        else { return }
        let host = Host(address: address, text: text)
        guard let index = found.firstIndex(where: { $0.answer == answer }) else {
            if found.count < Self.mostServers { found.append((answer, [host])) }
            return
        }
        guard !found[index].hosts.contains(host), found[index].hosts.count < Self.mostAddresses else { return }
        found[index].hosts.append(host)
    }

    /// The servers, ordered by name and address.
    ///
    /// - Parameter known: the user's list of known servers.
    package func servers(_ known: [KnownServers.Entry]) -> [FoundServer] {
        found.compactMap { entry in
            let hosts = entry.hosts.sorted { Self.worth($0.address) < Self.worth($1.address) }
            return FoundServer(entry.answer, at: hosts.map(\.text), known: known)
        }.sorted { a, b in
            a.name.hasSameBytes(as: b.name)
                ? a.address.server.utf8.lexicographicallyPrecedes(b.address.server.utf8)
                : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
        }
    }

    /// The order of addresses: loopback works without a network, and a link-local address has a meaning only on this
    /// machine.
    private static func worth(_ address: IPAddress) -> Int {
        if address.isLoopback { return 0 }
        if address.isLinkLocal { return 3 }
        if case .ipv4 = address { return 1 }
        return 2
    }
}
