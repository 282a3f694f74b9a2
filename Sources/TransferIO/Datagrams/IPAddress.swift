internal import CLinux
import Glibc

/// An internet address without a port.
package enum IPAddress: Hashable, Sendable {
    /// In the byte order of the machine: 127.0.0.1 is 0x7F000001.
    case ipv4(UInt32)
    /// Its first eight bytes and its last, as numbers in network byte order.
    case ipv6(high: UInt64, low: UInt64)

    /// 255.255.255.255: everybody on the link (RFC 919).
    package static let limitedBroadcast = IPAddress.ipv4(.max)

    /// ff02::1: everybody on the link (RFC 4291, 2.7.1).
    package static let allNodes = IPAddress.ipv6(high: 0xFF02 << 48, low: 1)

    package static let ipv4Loopback = IPAddress.ipv4(0x7F00_0001)
    package static let ipv6Loopback = IPAddress.ipv6(high: 0, low: 1)

    /// - Returns: nothing for an address of a Unix socket.
    package init?(_ address: SocketAddress) {
        if let number = address.ipv4 {
            self = .ipv4(number)
        } else if let (high, low) = address.ipv6 {
            self = .ipv6(high: high, low: low)
        } else {
            return nil
        }
    }

    /// - Parameter text: in digits, without a port, brackets or a zone. An IPv4 address that is written as an IPv6 one is an
    ///   IPv4 address (RFC 4291, 2.5.5.2).
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

    /// In digits, without brackets.
    package var text: String? {
        guard case .internet(let host, _)? = SocketAddress(self, port: 0).endpoint else { return nil }
        return host
    }

    /// The IPv4 address that an IPv6 one stands for; any other as it is.
    package var unmapped: IPAddress {
        guard case .ipv6(high: 0, let low) = self, low >> 32 == 0xFFFF else { return self }
        return .ipv4(UInt32(truncatingIfNeeded: low))
    }

    /// - Parameter bytes: in network byte order: 4 at least of an IPv4 address, and 16 of another one.
    init(_ bytes: UnsafeRawBufferPointer, family: Int32) {
        guard family == AF_INET6 else {
            self = .ipv4(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))
            return
        }
        self = .ipv6(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    /// AF_INET or AF_INET6.
    package var family: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    /// In network byte order.
    var bytes: [UInt8] {
        switch self {
        case .ipv4(let number): withUnsafeBytes(of: number.bigEndian) { Array($0) }
        case .ipv6(let high, let low):
            withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
        }
    }

    /// All of this machine's: 0.0.0.0 or ::.
    package var isUnspecified: Bool { self == .ipv4(0) || self == .ipv6(high: 0, low: 0) }

    /// 127.0.0.0/8 or ::1.
    package var isLoopback: Bool {
        switch self {
        case .ipv4(let number): number >> 24 == 127
        case .ipv6: self == .ipv6Loopback
        }
    }

    /// 224.0.0.0/4 or ff00::/8.
    package var isMulticast: Bool {
        switch self {
        case .ipv4(let number): number >> 28 == 0xE
        case .ipv6(let high, _): high >> 56 == 0xFF
        }
    }

    /// 169.254.0.0/16 or fe80::/10: no router passes such an address on (RFC 3927, RFC 4291).
    package var isLinkLocal: Bool {
        switch self {
        case .ipv4(let number): number >> 16 == 0xA9FE
        case .ipv6(let high, _): high >> 54 == 0x3FA
        }
    }
}

extension SocketAddress {
    /// - Parameter scope: of a link-local IPv6 address, the number of its interface; 0 for none.
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

    /// The same, with another port; an address of a Unix socket as it is.
    package func with(port: UInt16) -> SocketAddress {
        IPAddress(self).map { SocketAddress($0, port: port, scope: scope) } ?? self
    }

    /// The number of the interface that a link-local IPv6 address belongs to; 0 for any other address.
    private var scope: UInt32 {
        guard family == AF_INET6 else { return 0 }
        return withPointer { address, _ in
            UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_scope_id
        }
    }

    /// Host and port as they can be given again; nothing for a Unix socket.
    package var endpoint: Endpoint? {
        guard family != AF_UNIX else { return nil }
        return Endpoint(description, defaultPort: 0)
    }
}
