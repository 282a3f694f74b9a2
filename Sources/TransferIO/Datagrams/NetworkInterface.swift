internal import CLinux
import Glibc
package import TransferSystem

/// An address of a local interface, with its network.
package struct NetworkInterface: Hashable, Sendable {
    /// Index of the interface, unique while it exists.
    package let index: UInt32
    package let address: IPAddress
    /// Netmask of an IPv4 address.
    package let mask: UInt32
    /// Broadcast address of an IPv4 network.
    package let broadcast: IPAddress?
    package let isLoopback: Bool
    /// Whether the interface supports multicast (IFF_MULTICAST).
    package let hasMulticast: Bool

    package init(
        index: UInt32, address: IPAddress, mask: UInt32 = .max, broadcast: IPAddress? = nil, isLoopback: Bool = false,
        hasMulticast: Bool = true
    ) {
        (self.index, self.address, self.mask, self.broadcast) = (index, address, mask, broadcast)
        (self.isLoopback, self.hasMulticast) = (isLoopback, hasMulticast)
    }

    /// Whether the network contains an IPv4 address.
    package func contains(_ other: IPAddress) -> Bool {
        guard case .ipv4(let own) = address, case .ipv4(let number) = other else { return false }
        return own & mask == number & mask
    }

    /// All addresses of all interfaces that are up (getifaddrs(3)).
    ///
    /// - Throws: an error if the process may not open netlink sockets, as under systemd's `RestrictAddressFamilies=`.
    package static func all() throws(SystemError) -> [NetworkInterface] {
        var list: UnsafeMutablePointer<ifaddrs>?
        try system("getifaddrs") { getifaddrs(&list) }
        defer { freeifaddrs(list) }
        return sequence(first: list) { $0?.pointee.ifa_next }.compactMap { $0.flatMap { NetworkInterface($0.pointee) } }
    }

    private init?(_ entry: ifaddrs) {
        let flags = Int(entry.ifa_flags)
        guard flags & Int(IFF_UP) != 0, let address = Self.address(entry.ifa_addr) else { return nil }
        var mask = UInt32.max
        if case .ipv4(let number)? = Self.address(entry.ifa_netmask, family: address.family) { mask = number }
        self.init(
            index: if_nametoindex(entry.ifa_name), address: address, mask: mask,
            broadcast: flags & Int(IFF_BROADCAST) != 0 ? Self.broadcast(of: address, mask) : nil,
            isLoopback: flags & Int(IFF_LOOPBACK) != 0,
            hasMulticast: flags & Int(IFF_MULTICAST) != 0)
    }

    /// The last address of an IPv4 network. It is computed because getifaddrs(3) reports the interface's own address if
    /// no broadcast address is configured.
    ///
    /// - Returns: nil for networks of one or two addresses (RFC 3021).
    static func broadcast(of address: IPAddress, _ mask: UInt32) -> IPAddress? {
        guard case .ipv4(let number) = address, ~mask > 1 else { return nil }
        return .ipv4(number | ~mask)
    }

    /// - Parameter family: family of the interface's address, because a netmask may have no family.
    private static func address(_ pointer: UnsafeMutablePointer<sockaddr>?, family: Int32? = nil) -> IPAddress? {
        guard let pointer else { return nil }
        switch family ?? Int32(pointer.pointee.sa_family) {
        case AF_INET:
            return withUnsafeBytes(of: UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in.self).sin_addr) {
                IPAddress($0, family: AF_INET)
            }
        case AF_INET6:
            return withUnsafeBytes(of: UnsafeRawPointer(pointer).loadUnaligned(as: sockaddr_in6.self).sin6_addr) {
                IPAddress($0, family: AF_INET6)
            }
        default: return nil
        }
    }
}
