internal import CLinux
import Glibc

/// An internet address without a port.
package enum IPAddress: Hashable, Sendable {
    /// The address in host byte order: 127.0.0.1 is 0x7F000001.
    case ipv4(UInt32)
    /// First and last eight bytes, as numbers in network byte order.
    case ipv6(high: UInt64, low: UInt64)

    /// 255.255.255.255, all hosts on the link (RFC 919).
    package static let limitedBroadcast = IPAddress.ipv4(.max)

    /// ff02::1, all hosts on the link (RFC 4291, 2.7.1).
    package static let allNodes = IPAddress.ipv6(high: 0xFF02 << 48, low: 1)

    package static let ipv4Loopback = IPAddress.ipv4(0x7F00_0001)
    package static let ipv6Loopback = IPAddress.ipv6(high: 0, low: 1)

    /// - Returns: nil for a Unix socket.
    package init?(_ address: SocketAddress) {
        if let number = address.ipv4 {
            self = .ipv4(number)
        } else if let (high, low) = address.ipv6 {
            self = .ipv6(high: high, low: low)
        } else {
            return nil
        }
    }

    /// - Parameter text: numeric, without port, brackets or zone. An IPv4-mapped IPv6 address becomes the IPv4 address
    ///   (RFC 4291, 2.5.5.2).
    package init?(_ text: String) {
        guard !text.utf8.contains(0) else { return nil }
        var four = in_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            self = .ipv4(UInt32(bigEndian: four.s_addr))
            return
        }
        var six = in6_addr()
        guard inet_pton(AF_INET6, text, &six) == 1 else { return nil }
        self = withUnsafeBytes(of: six) { IPAddress($0, family: AF_INET6) }.unmapped
    }

    /// The numeric address without brackets.
    package var text: String? {
        guard case .internet(let host, _)? = SocketAddress(self, port: 0).endpoint else { return nil }
        return host
    }

    /// The IPv4 address of an IPv4-mapped IPv6 address; any other address unchanged.
    package var unmapped: IPAddress {
        guard case .ipv6(high: 0, let low) = self, low >> 32 == 0xFFFF else { return self }
        return .ipv4(UInt32(truncatingIfNeeded: low))
    }

    /// - Parameter bytes: in network byte order; at least 4 for IPv4, 16 for IPv6.
    init(_ bytes: UnsafeRawBufferPointer, family: Int32) {
        guard family == AF_INET6 else {
            self = .ipv4(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
            return
        }
        self = .ipv6(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// Address family: AF_INET or AF_INET6.
    package var family: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// The address in network byte order.
    var bytes: [UInt8] {
        switch self {
        case .ipv4(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) }
        case .ipv6(let high, let low):
            withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
        }
    }

    /// Whether the address stands for all local addresses: 0.0.0.0 or ::.
    package var isUnspecified: Bool { self == .ipv4(0) || self == .ipv6(high: 0, low: 0) }

    /// Whether the address is in 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        switch self {
        case .ipv4(let number): number >> 24 == 127
        case .ipv6: self == .ipv6Loopback
        }
    }

    /// Whether the address is in 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        switch self {
        case .ipv4(let number): number >> 28 == 0xE
        case .ipv6(let high, _): high >> 56 == 0xFF
        }
    }

    /// Whether the address is in 169.254.0.0/16 or fe80::/10, which routers do not forward (RFC 3927, RFC 4291).
    package var isLinkLocal: Bool {
        switch self {
        case .ipv4(let number): number >> 16 == 0xA9FE
        case .ipv6(let high, _): high >> 54 == 0x3FA
        }
    }
}

extension SocketAddress {
    /// - Parameter scope: interface index for a link-local IPv6 address; 0 for none.
    package init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
        var storage = sockaddr_storage()
        switch address {
        case .ipv4(let number):
            var filled = sockaddr_in()
            filled.sin_family = sa_family_t(AF_INET)
            filled.sin_port = port.bigEndian
            filled.sin_addr.s_addr = number.bigEndian
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: filled) { target.copyMemory(from: $0) }
            }
            self.init(storage: storage, length: socklen_t(MemoryLayout<sockaddr_in>.size))
        case .ipv6:
            var filled = sockaddr_in6()
            filled.sin6_family = sa_family_t(AF_INET6)
            filled.sin6_port = port.bigEndian
            filled.sin6_scope_id = scope
            withUnsafeMutableBytes(of: &filled.sin6_addr) { $0.copyBytes(from: address.bytes) }
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: filled) { target.copyMemory(from: $0) }
            }
            self.init(storage: storage, length: socklen_t(MemoryLayout<sockaddr_in6>.size))
        }
    }

    /// The same address with another port; a Unix socket's address unchanged.
    package func with(port: UInt16) -> SocketAddress {
        IPAddress(self).map { SocketAddress($0, port: port, scope: scope) } ?? self
    }

    /// Interface index of a link-local IPv6 address; 0 for any other address.
    private var scope: UInt32 {
        guard family == AF_INET6 else { return 0 }
        return withPointer { address, _ in
            UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_scope_id
        }
    }

    /// Numeric host and port; nil for a Unix socket.
    package var endpoint: Endpoint? {
        guard family != AF_UNIX else { return nil }
        return Endpoint(description, defaultPort: 0)
    }
}
