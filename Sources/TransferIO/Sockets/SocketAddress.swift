internal import CLinux
import Glibc
import TransferSystem

/// A resolved socket address, as system calls take it.
package struct SocketAddress: Sendable {
    private let storage: sockaddr_storage
    private let length: socklen_t

    init(storage: sockaddr_storage, length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    /// Address family: AF_INET, AF_INET6 or AF_UNIX.
    package var family: Int32 { Int32(storage.ss_family) }

    /// Passes the address to a system call.
    func withPointer<T>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Fills an address through a system call such as `getsockname`.
    static func filled(
        by call: String, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Int32
    ) throws(SystemError) -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
        }
        guard code >= 0 else { throw SystemError(errno: errno, call: call) }
        return SocketAddress(storage: storage, length: length)
    }

    /// Makes the address of a Unix socket with a path.
    ///
    /// - Precondition: shorter than `Endpoint.longestUnixPath`.
    package init(unixPath path: String) {
        self.init(socketName: path.utf8, length: MemoryLayout<sockaddr_un>.size)
    }

    /// Makes the address of a Unix socket with an abstract name (unix(7)).
    ///
    /// - Precondition: shorter than `Endpoint.longestUnixPath`, minus one byte.
    package init(abstractName name: String) {
        let bytes = [0] + Array(name.utf8)
        self.init(socketName: bytes, length: MemoryLayout<sa_family_t>.size + bytes.count)
    }

    private init(socketName name: some Collection<UInt8>, length: Int) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            // Trap: `Endpoint` has checked the length of every path from outside, and this program chooses short ones.
            precondition(name.count < bytes.count, "a Unix-domain path that no Endpoint lets pass")
            bytes.copyBytes(from: name)
        }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) { target in
            withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
        }
        self.init(storage: storage, length: socklen_t(length))
    }

    /// The port of an internet address; nil for a Unix socket.
    package var port: UInt16? {
        withUnsafeBytes(of: storage) { bytes in
            switch family {
            case AF_INET: UInt16(bigEndian: bytes.load(as: sockaddr_in.self).sin_port)
            case AF_INET6: UInt16(bigEndian: bytes.load(as: sockaddr_in6.self).sin6_port)
            default: nil
            }
        }
    }

    /// The path of a Unix socket; nil for abstract names and other addresses.
    package var unixPath: String? {
        guard family == AF_UNIX else { return nil }
        let front = MemoryLayout<sa_family_t>.size
        let name = withUnsafeBytes(of: storage) { Array($0[front..<max(front, Int(length))].prefix { $0 != 0 }) }
        return name.isEmpty ? nil : String(validating: name, as: UTF8.self)
    }

    /// The IPv4 address in host byte order; nil for other families.
    var ipv4: UInt32? {
        guard family == AF_INET else { return nil }
        return withUnsafeBytes(of: storage) { UInt32(bigEndian: $0.load(as: sockaddr_in.self).sin_addr.s_addr) }
    }

    /// The two halves of the IPv6 address; nil for other families.
    var ipv6: (high: UInt64, low: UInt64)? {
        guard family == AF_INET6 else { return nil }
        let address = withUnsafeBytes(of: storage) { $0.load(as: sockaddr_in6.self).sin6_addr }
        return withUnsafeBytes(of: address) { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    /// Whether only this machine can reach the address.
    package var isLocal: Bool {
        guard family != AF_UNIX else { return true }
        let host = numericHost ?? ""
        return host.hasPrefix("127.") || host == "::1" || host.hasPrefix("::ffff:127.")
    }

    private var numericHost: String? {
        guard family != AF_UNIX else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NI_MAXHOST)) { host in
            let code = withPointer { address, length in
                getnameinfo(address, length, host.baseAddress, socklen_t(host.count), nil, 0, NI_NUMERICHOST)
            }
            return code == 0 ? host.baseAddress.map { String(cString: $0) } : nil
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        guard let host = numericHost, let port else { return "unix socket" }
        return Endpoint.internet(host: host, port: port).description
    }
}

extension Endpoint {
    /// Whether the endpoint may be on this machine. False for a numeric address of other machines and for the addresses
    /// that stand for all interfaces. A name may be on this machine, because it is not resolved here.
    package var mayBeLocal: Bool {
        guard case .internet(let host, let port) = self else { return true }
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST
        var list: UnsafeMutablePointer<addrinfo>?
        guard host != "*" else { return false }
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let first = list else { return true }
        defer { freeaddrinfo(first) }
        return SocketAddress(first.pointee)?.isLocal ?? false
    }

    /// Resolves the endpoint with the system's resolver. Blocks; call it on the pool.
    ///
    /// - Returns: at least one address, in the order in which to try them (RFC 6724).
    /// - Throws: `ResolutionError`.
    package func resolve() throws(ResolutionError) -> [SocketAddress] {
        switch self {
        case .unix(let path): return [SocketAddress(unixPath: path)]
        case .internet(let host, let port): return try Self.resolve(host: host, port: port)
        }
    }

    private static func resolve(host: String, port: UInt16) throws(ResolutionError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        // Without a host name, getaddrinfo(3) returns the wildcard addresses.
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host == "*" ? nil : host, String(port), &hints, &list)
        guard code == 0, let first = list else {
            throw ResolutionError(host: host, reason: String(cString: gai_strerror(code)))
        }
        defer { freeaddrinfo(first) }
        return sequence(first: first, next: { $0.pointee.ai_next }).compactMap { SocketAddress($0.pointee) }
    }
}

/// The system's resolver does not know a name, or cannot resolve it now.
package struct ResolutionError: Error, Equatable, Sendable {
    package let host: String

    /// The resolver's description of the error.
    package let reason: String
}

extension SocketAddress {
    fileprivate init?(_ info: addrinfo) {
        guard let address = info.ai_addr, info.ai_addrlen <= MemoryLayout<sockaddr_storage>.size else { return nil }
        var storage = sockaddr_storage()
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(info.ai_addrlen)))
        }
        self.init(storage: storage, length: info.ai_addrlen)
    }
}
