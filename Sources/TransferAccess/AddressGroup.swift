/// Whom a failed attempt is laid to: an IPv4 address, the /64 network of an IPv6 address (what one subscriber has, RFC
/// 6177), or this machine.
package enum AddressGroup: Hashable, Sendable {
    case local
    case ipv4(UInt32)
    case ipv6(UInt64)

    /// - Parameter bytes: of an IPv4 or IPv6 address in network byte order; anything else is this machine, as Unix-domain
    ///   sockets have no address.
    package init(_ bytes: [UInt8]) {
        let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]
        if bytes.count == 16, bytes.starts(with: mapped) {
            self.init(Array(bytes.suffix(4)))
        } else if bytes.count == 16, !Self.isLoopback(bytes) {
            self = .ipv6(bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        } else if bytes.count == 4, bytes[0] != 127 {
            self = .ipv4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        } else {
            self = .local
        }
    }

    private static func isLoopback(_ bytes: [UInt8]) -> Bool {
        bytes.dropLast().allSatisfy { $0 == 0 } && bytes[15] == 1
    }
}
