import Glibc
package import TransferSystem

extension SocketAddress {
    /// - Returns: nil for local addresses and Unix sockets, because many users and programs share these, for example
    ///   programs that forward connections from elsewhere.
    package var network: PeerNetwork? {
        switch family {
        case AF_INET: ipv4.flatMap(Self.network(ipv4:))
        case AF_INET6: ipv6.flatMap(Self.network(ipv6:))
        default: nil
        }
    }

    private static func network(ipv4: UInt32) -> PeerNetwork? {
        ipv4 >> 24 == 127 ? nil : PeerNetwork(ipv4: ipv4)
    }

    private static func network(ipv6: (high: UInt64, low: UInt64)) -> PeerNetwork? {
        guard ipv6.high == 0 else { return PeerNetwork(ipv6Prefix: ipv6.high) }
        if ipv6.low == 1 { return nil }
        // ::ffff:0:0/96 is an IPv4 address (RFC 4291, 2.5.5.2).
        return ipv6.low >> 32 == 0xFFFF
            ? network(ipv4: UInt32(truncatingIfNeeded: ipv6.low)) : PeerNetwork(ipv6Prefix: ipv6.high)
    }
}
