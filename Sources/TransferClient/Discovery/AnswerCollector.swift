package import TransferIO
import TransferModel
package import TransferProtocol

/// Gathers the answers to one question. Sans-IO.
package struct AnswerCollector {
    /// Servers that are kept; answers of more are dropped. Nobody reads more, and each takes some 300 bytes.
    static let mostServers = 256

    /// Addresses of one server that are kept.
    static let mostAddresses = 16

    private let nonce: DiscoveryNonce
    /// In the order in which they were first heard of.
    private var found: [(answer: DiscoveryAnswer, hosts: [Host])] = []

    /// Where an answer came from.
    private struct Host: Equatable {
        let address: IPAddress
        /// As it can be written, with the interface of a link-local address.
        let text: String
    }

    /// - Parameter nonce: that of the question.
    package init(_ nonce: DiscoveryNonce) {
        self.nonce = nonce
    }

    /// Takes what has come. Whatever is no answer to this question counts for nothing. Equal answers are of one server,
    /// which has several addresses.
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

    /// By name and address.
    ///
    /// - Parameter known: the user's list.
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

    /// This machine's own address holds whatever the network does; one with a zone means something here only.
    private static func worth(_ address: IPAddress) -> Int {
        if address.isLoopback { return 0 }
        if address.isLinkLocal { return 3 }
        if case .ipv4 = address { return 1 }
        return 2
    }
}
