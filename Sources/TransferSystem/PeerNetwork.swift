/// Whom an address can be held against: one IPv4 address, or the /64 of an IPv6 address, of which one subscriber has all
/// addresses (RFC 6177). An IPv4 address counts as the same over either kind of socket.
package struct PeerNetwork: Hashable, Sendable {
    private let isIPv4: Bool
    private let bits: UInt64

    package init(ipv4: UInt32) {
        isIPv4 = true
        bits = UInt64(ipv4)
    }

    package init(ipv6Prefix: UInt64) {
        isIPv4 = false
        bits = ipv6Prefix
    }
}
