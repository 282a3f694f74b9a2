package import TransferIO
package import TransferProtocol

/// How a server lets itself be found.
package struct DiscoveryOptions: Sendable {
    /// What it is called.
    package var name: DiscoveryName

    /// Where to wait for datagrams; without any, at the ports that are listened on.
    package var endpoints: [Endpoint] = []

    package init(name: DiscoveryName) {
        self.name = name
    }
}
