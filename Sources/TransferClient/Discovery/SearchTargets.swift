import TransferIO
import TransferModel

/// The addresses that a search sends its question to.
enum SearchTargets {
    /// This machine, and all machines in the networks that it is connected to: the broadcast addresses of IPv4
    /// networks, and the all-nodes address of IPv6.
    static func network(_ interfaces: [NetworkInterface], port: UInt16) -> [SocketAddress] {
        var targets = [IPAddress.ipv4Loopback, .ipv6Loopback].map { SocketAddress($0, port: port) }
        var asked: Set<IPAddress> = []
        var links: Set<UInt32> = []
        for interface in interfaces where !interface.isLoopback {
            switch interface.address {
            case .ipv4:
                guard let broadcast = interface.broadcast, asked.insert(broadcast).inserted else { continue }
                targets.append(SocketAddress(broadcast, port: port))
            case .ipv6:
                guard interface.hasMulticast, links.insert(interface.index).inserted else { continue }
                targets.append(SocketAddress(.allNodes, port: port, scope: interface.index))
            }
        }
        return targets
    }
}
