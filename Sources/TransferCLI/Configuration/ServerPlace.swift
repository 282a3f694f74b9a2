private import TransferAccess
private import TransferClient
private import TransferModel

/// A path on a server in an operand: `NAME:/PATH`, `HOST[:PORT]:/PATH`, `transfer://HOST[:PORT]/PATH` and similar
/// forms.
///
/// A text names a place on a server if a colon comes before its first slash, as with scp; `./` at the beginning makes
/// it local. It is also local if the part before the colon cannot name a server, for example because it contains a
/// blank.
package struct ServerPlace: Equatable, Sendable {
    /// The server alone, in the form that the flag for the server accepts.
    package let server: String

    /// The path below the server's folder; `/` for the folder itself.
    package let path: String

    /// Server and path, in the form that the flag for the server accepts.
    package let target: String

    private static let colon = UInt8(ascii: ":")
    private static let slash = UInt8(ascii: "/")

    /// Reads the text by bytes: as characters, a combining mark would join with the separator before it.
    ///
    /// - Returns: nil for a local path.
    package init?(_ text: String) {
        if text.utf8.starts(with: TransferLink.scheme.utf8) {
            self.init(link: text)
        } else if ServerAddress.isURL(text) || text.utf8.starts(with: "unix:".utf8) {
            self.init(whole: text)
        } else {
            self.init(address: text)
        }
    }

    private init(_ server: String, below rest: some Collection<UInt8>) {
        let path = String(decoding: rest.drop { $0 == Self.slash }, as: UTF8.self)
        let separator = server.utf8.last == Self.slash ? "" : "/"
        self.server = server
        self.path = path.isEmpty ? "/" : path
        target = path.isEmpty ? server : server + separator + path
    }

    /// The value of a flag for the server in its normal form: `home:/a` for `home:a`.
    static func canonical(_ text: String) -> String { ServerPlace(text)?.target ?? text }

    /// The text for another path on the same server.
    func beside(_ path: String) -> String {
        let name = server.utf8.prefix { $0 != UInt8(ascii: "#") }
        let secret = server.utf8[name.endIndex...]
        return ServerPlace(String(Substring(name)), below: path.utf8).target + String(Substring(secret))
    }

    /// A name by which servers are compared. It is equal for all texts that name the same server, as far as the texts
    /// show it.
    var serverName: String {
        let text = server.utf8.last == Self.slash ? server.utf8.dropLast() : server.utf8[...]
        let name = String(Substring(text.last == Self.colon ? text.dropLast() : text))
        guard !Remote.isName(name), let address = ServerAddress(server), address.web == nil else { return name }
        return address.server
    }

    /// A text whose path cannot be separated, such as a URL.
    private init(whole text: String) {
        (server, path, target) = (text, "/", text)
    }

    private init(server: String, path: String, target: String) {
        (self.server, self.path, self.target) = (server, path, target)
    }

    /// Reads a link. Its code and its key belong to the server.
    private init(link text: String) {
        guard let folder = (try? TransferLink(text))?.folder else {
            self.init(whole: text)
            return
        }
        let authority = text.utf8.dropFirst(TransferLink.scheme.utf8.count).prefix { $0 != Self.slash }
        let secret = text.utf8.drop { $0 != UInt8(ascii: "#") }
        self.init(
            server: TransferLink.scheme + String(Substring(authority)) + String(Substring(secret)), path: folder.string,
            target: text)
    }

    private init?(address text: String) {
        guard let colon = Self.firstColon(text.utf8) else { return nil }
        let head = text.utf8.prefix { $0 != Self.slash }
        let rest = text.utf8[head.endIndex...]
        // A text with the `SCHEME://` of another program is not a local name.
        guard !rest.starts(with: "//".utf8) || head.last != Self.colon else {
            self.init(whole: text)
            return
        }
        let host = String(Substring(text.utf8[..<colon]))
        let path = text.utf8[colon...].dropFirst()
        let isClosed = head.last == Self.colon
        let port = isClosed && colon < head.endIndex ? head[colon...].dropLast().dropFirst() : path
        let server = String(Substring(isClosed ? head.dropLast() : head))
        if let found = DiscoveredAddress(text) {
            self.init(found.server, below: found.folder.utf8)
        } else if isClosed, Self.isServer(server) {
            // A name with an empty path after its colon is that of a remote.
            self.init(rest.isEmpty && Remote.isName(server) ? "\(server):" : "\(server):/", below: rest)
        } else if Self.isServer(server) || Self.hasPort(port) && Self.isServer(host) {
            self.init(server, below: rest)
        } else if Self.isServer(host) {
            self.init("\(host):/", below: Self.fromHome(path))
        } else {
            return nil
        }
    }

    /// The colon that ends a server's name. It must precede any slash, and follow the bracket of an IPv6 address.
    private static func firstColon(_ text: String.UTF8View) -> String.Index? {
        if text.first == UInt8(ascii: "[") {
            guard let close = text.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let rest = text[close...].dropFirst()
            return rest.first == colon ? rest.startIndex : nil
        }
        let end = text.firstIndex { $0 == colon || $0 == slash }
        guard let end, text[end] == colon, end != text.startIndex else { return nil }
        return end
    }

    /// Whether only digits come before the first slash, or before the rest of a truncated link. Such digits are a port,
    /// even if the number is too large.
    private static func hasPort(_ path: Substring.UTF8View) -> Bool {
        let digits = path.prefix { $0 != slash && $0 != UInt8(ascii: "#") }
        return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether a text can be a server: a name, an address, or one of these with a port.
    private static func isServer(_ text: String) -> Bool {
        if Remote.isName(text) { return true }
        let name = text.utf8.prefix { $0 != colon }
        let isAddress = text.utf8.first == UInt8(ascii: "[") || text.utf8.count(where: { $0 == colon }) > 1
        return (isAddress || TransferLink.isHost(String(Substring(name)))) && ServerAddress(text) != nil
    }

    /// Removes `~`: servers have no home directories, and relative paths begin at the top folder.
    private static func fromHome(_ path: Substring.UTF8View) -> Substring.UTF8View {
        guard path.first == UInt8(ascii: "~") else { return path }
        let rest = path.dropFirst()
        return rest.isEmpty || rest.first == slash ? rest : path
    }
}
