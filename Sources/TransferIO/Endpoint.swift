import Glibc

/// Where to listen or connect, as people write it: `HOST:PORT`, `[IPv6]:PORT`, `HOST`, `:PORT` or `unix:PATH`.
package enum Endpoint: Hashable, Sendable {
    case internet(host: String, port: UInt16)
    case unix(path: String)

    /// Reads an endpoint.
    ///
    /// - Parameter defaultPort: taken when the text names none.
    /// - Returns: nothing when the text is not one.
    package init?(_ text: String, defaultPort: UInt16) {
        if text.utf8.starts(with: Self.unixPrefix.utf8) {
            let path = String(Substring(text.utf8.dropFirst(Self.unixPrefix.utf8.count)))
            guard !path.isEmpty, path.utf8.count < Self.longestUnixPath, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard let (host, port) = Self.split(text), let number = Self.port(port, defaultPort) else { return nil }
        // Names are ASCII where they are looked up (RFC 5890, section 2.3.2.1). Within brackets there may be another one,
        // which no host has.
        guard !host.isEmpty, host.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !host.hasPrefix("["),
            !host.contains(":") || Self.isIPv6(host)
        else { return nil }
        self = .internet(host: host, port: number)
    }

    package static let unixPrefix = "unix:"

    /// Bytes of `sun_path`, the terminating NUL included (unix(7)).
    package static let longestUnixPath = 108

    private static func split(_ text: String) -> (host: String, port: Substring?)? {
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            let host = text[text.index(after: text.startIndex)..<close]
            let rest = text[text.index(after: close)...]
            guard rest.isEmpty || rest.hasPrefix(":") else { return nil }
            return (String(host), rest.isEmpty ? nil : rest.dropFirst())
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        // Two colons or more without brackets: an IPv6 address without a port.
        guard parts.count == 2 else { return (text, nil) }
        return (parts[0].isEmpty ? "localhost" : String(parts[0]), parts[1])
    }

    /// A zone may follow, as in `fe80::1%eth0`.
    private static func isIPv6(_ host: String) -> Bool {
        var address = in6_addr()
        let number = host.prefix { $0 != "%" }
        return inet_pton(AF_INET6, String(number), &address) == 1
    }

    private static func port(_ text: Substring?, _ fallback: UInt16) -> UInt16? {
        guard let text else { return fallback }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt16(text)
    }
}

extension Endpoint: CustomStringConvertible {
    package var description: String {
        switch self {
        // A host of the name unix would look like a socket's path.
        case .internet(let host, let port):
            host.contains(":") || host == "unix" ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
