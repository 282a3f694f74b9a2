import TransferIO
import TransferSystem

/// Where a connection comes from.
struct PeerOrigin: Sendable {
    /// The address, for logs.
    let name: String

    /// What it is held against; nothing for this machine.
    let network: PeerNetwork?

    let isLocal: Bool
}

extension PeerOrigin {
    init(_ address: SocketAddress, _ configuration: ServerConfiguration) {
        self.init(name: address.description, network: configuration.network(address), isLocal: address.isLocal)
    }
}
