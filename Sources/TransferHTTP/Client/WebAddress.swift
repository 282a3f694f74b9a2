/// A URL of HTTP that somebody has given to a client (RFC 9110, section 4.2): where to connect, and the path there.
package struct WebAddress: Hashable, Sendable {
    /// Who the client says it is (RFC 7617). Never printed, and never sent anywhere else.
    package struct Credentials: Hashable, Sendable {
        let bytes: [UInt8]

        /// The value of `Authorization`.
        package var authorization: String { "Basic \(Base64Text.encode(bytes))" }
    }

    package let isSecure: Bool

    /// In small letters; an IPv6 address without its brackets.
    package let host: String

    package let port: UInt16

    /// Begins with a slash, as it stands in a request: visible ASCII, without a query.
    package let path: String

    /// What stands in front of the host.
    package let credentials: Credentials?

    /// Whether a text is meant to be one. Schemes are compared without case (RFC 3986, section 3.1).
    package static func isMeant(_ text: String) -> Bool { RequestTarget.authority(of: text.utf8) != nil }

    /// Reads `https://[USER:PASSWORD@]HOST[:PORT][/PATH]`, or the same with `http`. Bytes of the path that cannot stand in a
    /// request are encoded.
    ///
    /// - Returns: nothing for anything else, also with a query or a fragment.
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

    /// The same place with a folder below it.
    package func below(_ folder: String) -> WebAddress {
        guard !folder.isEmpty else { return self }
        return WebAddress(self, path: "\(folderPath)\(PercentEncoding.path(folder.utf8))/")
    }

    /// The path as that of a folder.
    package var folderPath: String { path.utf8.last == UInt8(ascii: "/") ? path : path + "/" }

    /// The value of `Host`; the port of the scheme is left out (RFC 9110, section 7.2).
    package var hostField: String {
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
    }

    /// Bytes that mean themselves in a path.
    private static func isPlain(_ byte: UInt8) -> Bool { 0x21..<0x7F ~= byte && !"\"#<>\\".utf8.contains(byte) }

    /// - Parameter place: a valid host, perhaps with a port.
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
    /// As it can be given again, without what stands in front of the host.
    package var description: String { "\(isSecure ? "https" : "http")://\(hostField)\(path)" }
}
