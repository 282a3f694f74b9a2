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

    /// Whether the other end is a balancer, which states the client in a PROXY header before it forwards the client's bytes.
    var isBalancer = false
}

extension PeerOrigin {
    /// - Parameter mayBeBalancer: whether balancers may connect to the listener.
    init(_ address: SocketAddress, _ configuration: ServerConfiguration, mayBeBalancer: Bool = false) {
        let isBalancer = mayBeBalancer && configuration.balancers.contains { $0.contains(address) }
        let isProxy = !isBalancer && configuration.trustedProxies.contains { $0.contains(address) }
        // All clients of a proxy share its address, so connections from it are not counted. A client behind a balancer can be on any
        // machine.
        self.init(
            name: address.description, network: isProxy || isBalancer ? nil : configuration.network(address),
            isLocal: address.isLocal && !isBalancer, isProxy: isProxy, isBalancer: isBalancer)
    }

    /// The origin of a connection after its PROXY header. A connection that the balancer has made by itself keeps the balancer's.
    func stated(by header: ProxyHeader, _ configuration: ServerConfiguration) -> PeerOrigin {
        guard case .client(let address, let port) = header else { return self }
        var origin = PeerOrigin(SocketAddress(address, port: port), configuration)
        origin.isLocal = false
        return origin
    }
}
