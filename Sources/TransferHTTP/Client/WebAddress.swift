/// An HTTP URL from the user (RFC 9110, section 4.2): server and path.
package struct WebAddress: Hashable, Sendable {
    /// The client's user name and password (RFC 7617). Never printed, and never sent to another server.
    package struct Credentials: Hashable, Sendable {
        let bytes: [UInt8]

        /// The value of `Authorization` for the scheme Basic.
        package var authorization: String { "Basic \(Base64Text.encode(bytes))" }
    }

    package let isSecure: Bool

    /// The host in lower case, for an IPv6 address without its brackets.
    package let host: String

    package let port: UInt16

    /// The path as in a request: visible ASCII that begins with a slash, without a query.
    package let path: String

    /// User name and password in front of the host.
    package let credentials: Credentials?

    /// Whether a text begins with `http:` or `https:`, in upper or lower case (RFC 3986, section 3.1).
    package static func isMeant(_ text: String) -> Bool { RequestTarget.authority(of: text.utf8) != nil }

    /// Reads `https://[USER:PASSWORD@]HOST[:PORT][/PATH]`, or the same with `http`. Bytes of the path that a request
    /// cannot contain are encoded.
    ///
    /// - Returns: nil for anything else, also with a query or a fragment.
    package init?(_ text: String) {
        guard let authority = RequestTarget.authority(of: text.utf8) else { return nil }
        isSecure = HTTPCharacter.areSame(text.utf8.prefix(8), "https://")
        let sign = authority.lastIndex(of: UInt8(ascii: "@"))
        if let sign {
            guard let bytes = PercentEncoding.decoded(authority[..<sign]), bytes.contains(UInt8(ascii: ":")),
                bytes.allSatisfy({ $0 >= HTTPCharacter.space && $0 != 0x7F })
            else { return nil }
            credentials = Credentials(bytes: bytes)
        } else {
            credentials = nil
        }
        let place = sign.map { authority[authority.index(after: $0)...] } ?? authority
        guard HostField.isValid(place), let (host, port) = Self.split(place) else { return nil }
        self.host = FieldSyntax.lowercased(host)
        guard let number = port.isEmpty ? (isSecure ? 443 : 80) : UInt16(String(decoding: port, as: UTF8.self)) else {
            return nil
        }
        self.port = number
        let rest = text.utf8[authority.endIndex...]
        guard !rest.contains(UInt8(ascii: "?")), !rest.contains(UInt8(ascii: "#")) else { return nil }
        path = rest.isEmpty ? "/" : PercentEncoding.encoded(rest) { Self.isPlain($0) || $0 == UInt8(ascii: "%") }
        guard (try? RequestPath(path.utf8)) != nil else { return nil }
    }

    private init(_ other: WebAddress, path: String) {
        (isSecure, host, port, credentials) = (other.isSecure, other.host, other.port, other.credentials)
        self.path = path
    }

    /// Returns the address of a folder below this one.
    package func below(_ folder: String) -> WebAddress {
        guard !folder.isEmpty else { return self }
        return WebAddress(self, path: "\(folderPath)\(PercentEncoding.path(folder.utf8))/")
    }

    /// The path with a slash at its end.
    package var folderPath: String { path.utf8.last == UInt8(ascii: "/") ? path : path + "/" }

    /// The value of `Host`; the default port is left out (RFC 9110, section 7.2).
    package var hostField: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Whether a byte may be in a path without being encoded.
    private static func isPlain(_ byte: UInt8) -> Bool { 0x21..<0x7F ~= byte && !"\"#<>\\".utf8.contains(byte) }

    /// - Parameter place: a valid host, with or without a port.
    private static func split(
        _ place: Substring.UTF8View
    ) -> (host: Substring.UTF8View, port: Substring.UTF8View)? {
        if place.first == UInt8(ascii: "[") {
            guard let end = place.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            return (place[..<end].dropFirst(), place[end...].dropFirst(2))
        }
        let host = place.prefix { $0 != UInt8(ascii: ":") }
        return (host, place[host.endIndex...].dropFirst())
    }
}

extension WebAddress: CustomStringConvertible {
    /// The URL without user name and password.
    package var description: String { "\(isSecure ? "https" : "http")://\(hostField)\(path)" }
}
