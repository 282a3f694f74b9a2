import Glibc

/// An address to listen on or connect to, as users write it: `HOST:PORT`, `[IPv6]:PORT`, `HOST`, `:PORT` or
/// `unix:PATH`.
package enum Endpoint: Hashable, Sendable {
    case internet(host: String, port: UInt16)
    case unix(path: String)

    private static let unixPrefix = "unix:"
    private static let colon = UInt8(ascii: ":")

    /// Reads an endpoint byte by byte: in a Swift string, some marks after a colon would join with it to one character.
    ///
    /// - Parameter defaultPort: used if the text has no port.
    /// - Returns: nil for any other text.
    package init?(_ text: String, defaultPort: UInt16) {
        if text.utf8.starts(with: Self.unixPrefix.utf8) {
            let path = String(Substring(text.utf8.dropFirst(Self.unixPrefix.utf8.count)))
            guard !path.isEmpty, path.utf8.count < Self.longestUnixPath, !path.utf8.contains(0) else { return nil }
            self = .unix(path: path)
            return
        }
        guard let (host, port) = Self.split(text), let number = Self.port(port, defaultPort) else { return nil }
        // No host contains brackets. A zone could contain them, but the endpoint could then not be read again from its
        // text.
        guard !host.isEmpty, !host.utf8.contains(where: "[]\0".utf8.contains),
            !host.utf8.contains(Self.colon) || Self.isIPv6(host)
        else { return nil }
        self = .internet(host: host, port: number)
    }

    /// Bytes of `sun_path`, including the terminating NUL (unix(7)).
    package static let longestUnixPath = 108

    private static func split(_ text: String) -> (host: String, port: Substring?)? {
        let bytes = text.utf8
        if bytes.first == UInt8(ascii: "[") {
            guard let close = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let rest = bytes[close...].dropFirst()
            guard rest.isEmpty || rest.first == colon else { return nil }
            return (String(Substring(bytes[..<close].dropFirst())), rest.isEmpty ? nil : Substring(rest.dropFirst()))
        }
        let parts = bytes.split(separator: colon, omittingEmptySubsequences: false).map { Substring($0) }
        // Two or more colons without brackets: an IPv6 address without a port.
        guard parts.count == 2 else { return (text, nil) }
        return (parts[0].isEmpty ? "localhost" : String(parts[0]), parts[1])
    }

    /// Whether the text is an IPv6 address, with or without a zone, as in `fe80::1%eth0`.
    private static func isIPv6(_ host: String) -> Bool {
        var address = in6_addr()
        let number = Substring(host.utf8.prefix { $0 != UInt8(ascii: "%") })
        return inet_pton(AF_INET6, String(number), &address) == 1
    }

    /// A message for a text whose port is too large; nil for other texts.
    package static func portFault(in text: String) -> String? {
        guard !text.utf8.starts(with: unixPrefix.utf8) else { return nil }
        let host = text.utf8.prefix { $0 != UInt8(ascii: "/") }
        let digits = host[(host.lastIndex(of: colon).map { host.index(after: $0) } ?? host.startIndex)...]
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }), UInt16(Substring(digits)) == nil
        else {
            return nil
        }
        return "\(Substring(digits)) is no port: those end at \(UInt16.max)"
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
        // A host named unix gets brackets, because without them it would look like the path of a socket.
        case .internet(let host, let port):
            host.utf8.contains(Self.colon) || host == "unix" ? "[\(host)]:\(port)" : "\(host):\(port)"
        case .unix(let path): "unix:\(path)"
        }
    }
}
