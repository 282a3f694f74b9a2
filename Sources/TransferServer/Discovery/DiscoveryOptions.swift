package import TransferIO
package import TransferProtocol

/// How clients can find a server on their network.
package struct DiscoveryOptions: Sendable {
    /// The name that the server answers with.
    package var name: DiscoveryName

    /// Where to wait for datagrams; if empty, at the ports of the listeners.
    package var endpoints: [Endpoint] = []

    package init(name: DiscoveryName) {
        self.name = name
    }
}
