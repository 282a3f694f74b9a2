import TransferIO
import TransferSystem

/// The client's end of a connection.
struct PeerOrigin: Equatable, Sendable {
    /// The address as the log shows it.
    let name: String

    /// The network for which limits count the client; nil for this machine.
    let network: PeerNetwork?

    var isLocal: Bool

    /// Whether the other end is a trusted proxy. The server believes what it states about the client of a request.
    var isProxy = false
}

extension PeerOrigin {
    init(_ address: SocketAddress, _ configuration: ServerConfiguration) {
        let isProxy = configuration.trustedProxies.contains { $0.contains(address) }
        // All clients of a proxy share its address, so connections from it are not counted.
        self.init(
            name: address.description, network: isProxy ? nil : configuration.network(address),
            isLocal: address.isLocal, isProxy: isProxy)
    }
}
