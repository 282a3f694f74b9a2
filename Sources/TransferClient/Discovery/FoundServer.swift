import TransferIO
public import TransferKeys
import TransferModel
import TransferProtocol

/// A server that has answered somebody who looked for it. All of it is what that server says, and anybody on the network can
/// say it: who is at an address is found out by connecting to it.
public struct FoundServer: Sendable, Equatable {
    /// What the list of known servers makes of it.
    public enum Standing: String, Sendable, CaseIterable {
        /// This key is known for the address.
        case known
        /// Another key is; somebody may be answering in that server's place.
        case otherKey
        /// Nothing is.
        case unknown
    }

    /// What it calls itself: 1 to 64 bytes, nothing that could steer a terminal.
    public let name: String

    /// Under which it was found, the best one first: one whose key is known, then this machine's own, IPv4 before IPv6. With
    /// the first of its ports; 1 to 16 of them.
    public let addresses: [ServerAddress]

    /// Where it takes connections, at each address; 1 to 8 of them.
    public let ports: [UInt16]

    /// Of the key that it will show, as it says; nothing for a server without TLS.
    public let fingerprint: KeyFingerprint?

    /// Of the first address.
    public let standing: Standing

    /// The best address.
    public var address: ServerAddress { addresses[0] }

    /// - Returns: nothing without an address.
    init?(_ answer: DiscoveryAnswer, at hosts: [String], known: [KnownServers.Entry]) {
        let fingerprint = answer.keyDigest.flatMap { Bytes32($0) }.map { KeyFingerprint($0) }
        let rated = hosts.map { host in
            let address = ServerAddress(.internet(host: host, port: answer.ports[0]), folder: "")
            return (address: address, standing: Standing(of: fingerprint, at: address, known))
        }
        // Sorting is stable: hosts come in the order of their own worth.
        let sorted = rated.sorted { Self.worth($0.standing) < Self.worth($1.standing) }
        guard let first = sorted.first else { return nil }
        (name, ports, self.fingerprint) = (answer.name.text, answer.ports, fingerprint)
        addresses = sorted.map(\.address)
        standing = first.standing
    }

    /// An address that the list has another key for comes before one that it doesn't know: a push there says so loudly.
    private static func worth(_ standing: Standing) -> Int {
        switch standing {
        case .known: 0
        case .otherKey: 1
        case .unknown: 2
        }
    }
}

extension FoundServer.Standing {
    fileprivate init(of fingerprint: KeyFingerprint?, at address: ServerAddress, _ known: [KnownServers.Entry]) {
        guard let entry = known.first(where: { $0.address.hasSameBytes(as: address.server) }) else {
            self = .unknown
            return
        }
        self = entry.fingerprint == fingerprint ? .known : .otherKey
    }
}
