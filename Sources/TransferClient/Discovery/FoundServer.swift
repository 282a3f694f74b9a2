import TransferIO
public import TransferKeys
import TransferModel
import TransferProtocol

/// A server that has answered a search. Everything here is only the server's claim, which any machine in the network
/// can make: a client must connect to find out which server is at an address.
public struct FoundServer: Sendable, Equatable {
    /// What the list of known servers says about it.
    public enum Trust: String, Sendable, CaseIterable {
        /// The list has this key for the address.
        case trusted
        /// The list has another key; another machine may be answering in that server's place.
        case keyChanged
        /// The list does not have the address.
        case unknown
    }

    /// The name that the server gives itself: 1 to 64 bytes, without characters that control a terminal.
    public let name: String

    /// The 1 to 16 addresses that answered, with the first port. The best one comes first: those with a known key, then
    /// loopback, then IPv4 before IPv6.
    public let addresses: [ServerAddress]

    /// The 1 to 8 ports on which it accepts connections, at each address.
    public let ports: [UInt16]

    /// The fingerprint of the key that it announces; nil for a server without TLS.
    public let fingerprint: KeyFingerprint?

    /// What the list says about the first address.
    public let trust: Trust

    /// The first of `addresses`, which is the best.
    public var address: ServerAddress { addresses[0] }

    /// - Returns: nil if there is no address.
    init?(_ answer: DiscoveryAnswer, at hosts: [String], known: [KnownServers.Entry]) {
        let fingerprint = answer.keyDigest.flatMap { Bytes32($0) }.map { KeyFingerprint($0) }
        let rated = hosts.map { host in
            let address = ServerAddress(.internet(host: host, port: answer.ports[0]), folder: "")
            return (address: address, trust: Trust(of: fingerprint, at: address, known))
        }
        // Sorting is stable, so hosts that are trusted equally keep their order.
        let sorted = rated.sorted { Self.worth($0.trust) < Self.worth($1.trust) }
        guard let first = sorted.first else { return nil }
        (name, ports, self.fingerprint) = (answer.name.text, answer.ports, fingerprint)
        addresses = sorted.map(\.address)
        trust = first.trust
    }

    /// An address for which the list has another key precedes an unknown one, because connecting to it produces a clear
    /// warning.
    private static func worth(_ trust: Trust) -> Int {
        switch trust {
        case .trusted: 0
        case .keyChanged: 1
        case .unknown: 2
        }
    }
}

extension FoundServer.Trust {
    fileprivate init(of fingerprint: KeyFingerprint?, at address: ServerAddress, _ known: [KnownServers.Entry]) {
        guard let entry = known.first(where: { $0.address.hasSameBytes(as: address.server) }) else {
            self = .unknown
            return
        }
        self = entry.fingerprint == fingerprint ? .trusted : .keyChanged
    }
}
