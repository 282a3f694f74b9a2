import Glibc

/// The network to which limits for an address apply: one IPv4 address, or the /64 prefix of an IPv6 address, because
/// one subscriber has all of that prefix (RFC 6177). An IPv4 address belongs to the same network whether its client
/// uses an IPv4 or an IPv6 socket.
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

extension PeerNetwork {
    /// - Parameter text: a numeric address without brackets and port.
    /// - Returns: nil for any other text.
    package init?(address text: String) {
        // A zone (`%eth0`) is valid only on this machine and does not change the network.
        let text = text.utf8.prefix { $0 != UInt8(ascii: "%") }
        var (four, six) = (in_addr(), in6_addr())
        guard let text = String(text) else { return nil }
        if inet_pton(AF_INET, text, &four) == 1 {
            self.init(ipv4: UInt32(bigEndian: four.s_addr))
            return
        }
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        let bytes = withUnsafeBytes(of: six) { Array($0) }
        let high = bytes[..<8].reduce(0) { $0 << 8 | UInt64($1) }
        let low = bytes[8...].reduce(0) { $0 << 8 | UInt64($1) }
        // An IPv4-mapped address (RFC 4291, section 2.5.5.2).
        if high == 0, low >> 32 == 0xFFFF {
            self.init(ipv4: UInt32(truncatingIfNeeded: low))
        } else {
            self.init(ipv6Prefix: high)
        }
    }
}
