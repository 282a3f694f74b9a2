import TransferIO
import TransferSystem

/// Where a connection comes from.
struct PeerOrigin: Equatable, Sendable {
    /// The address, for logs.
    let name: String

    /// What it is held against; nothing for this machine.
    let network: PeerNetwork?

    var isLocal: Bool

    /// Whether it is believed when it says whom it asks for.
    var isProxy = false
}

extension PeerOrigin {
    init(_ address: SocketAddress, _ configuration: ServerConfiguration) {
        let isProxy = configuration.trustedProxies.contains { $0.contains(address) }
        // All clients of a proxy share its address, so places are not counted for it.
        self.init(
            name: address.description, network: isProxy ? nil : configuration.network(address),
            isLocal: address.isLocal, isProxy: isProxy)
    }
}
