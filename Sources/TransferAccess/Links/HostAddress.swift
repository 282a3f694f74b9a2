internal import CLinux
import Glibc
import TransferSystem

/// Finds the address by which other machines most likely reach this one.
package enum HostAddress {
    /// A family of internet addresses.
    package enum Family: Sendable {
        case ipv4, ipv6

        fileprivate var number: Int32 { self == .ipv4 ? AF_INET : AF_INET6 }
    }

    /// This machine's address in the first of the families that has one for other machines, without brackets.
    ///
    /// - Returns: nil for a machine without a network.
    package static func best(among families: [Family] = [.ipv4, .ipv6]) -> String? {
        families.lazy.map(\.number).compactMap { source(towards: $0) ?? firstOfInterfaces($0) }.first
    }

    /// The source address of packets to the internet. Connecting a datagram socket determines it without sending a
    /// packet.
    private static func source(towards family: Int32) -> String? {
        // Addresses from documentation (RFC 5737, RFC 3849), which need no resolver and belong to no host.
        let target = family == AF_INET ? "192.0.2.1" : "2001:db8::1"
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_DGRAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(target, "9", &hints, &list) == 0, let first = list else { return nil }
        defer { freeaddrinfo(first) }
        let number = socket(family, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard number >= 0 else { return nil }
        let handle = Descriptor(number)
        guard connect(handle.number, first.pointee.ai_addr, first.pointee.ai_addrlen) == 0 else { return nil }
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                getsockname(handle.number, address, &length) == 0 ? text(address) : nil
            }
        }
    }

    private static func firstOfInterfaces(_ family: Int32) -> String? {
        var list: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&list) == 0, let first = list else { return nil }
        defer { freeifaddrs(first) }
        for entry in sequence(first: first, next: { $0.pointee.ifa_next }) {
            guard entry.pointee.ifa_flags & UInt32(IFF_UP) != 0, let address = entry.pointee.ifa_addr,
                Int32(address.pointee.sa_family) == family, let text = text(address)
            else { continue }
            return text
        }
        return nil
    }

    /// - Returns: nil for an address that is only valid on this machine or link.
    private static func text(_ address: UnsafePointer<sockaddr>) -> String? {
        let bytes = bytes(address)
        guard isReachable(bytes) else { return nil }
        let family = Int32(address.pointee.sa_family)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func bytes(_ address: UnsafePointer<sockaddr>) -> [UInt8] {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in.self).sin_addr) { Array($0) }
        case AF_INET6: return withUnsafeBytes(of: raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr) { Array($0) }
        default: return []
        }
    }

    /// Whether other machines can use an address in network byte order: it is not a loopback, unspecified, link-local
    /// or multicast address (RFC 6890).
    static func isReachable(_ bytes: [UInt8]) -> Bool {
        switch bytes.count {
        case 4: ![0, 127].contains(bytes[0]) && bytes[0] < 224 && !bytes.starts(with: [169, 254])
        // Global unicast or unique local addresses.
        case 16: bytes[0] & 0xE0 == 0x20 || bytes[0] & 0xFE == 0xFC
        default: false
        }
    }
}
