private import TransferAccess
private import TransferClient
private import TransferModel

/// A place on a server as an operand names it: `NAME:/PATH`, `HOST[:PORT]:/PATH`, `transfer://HOST[:PORT]/PATH` and the like.
///
/// A text is one where a colon comes before any slash, as scp has it; `./` in front makes it a name here. What no server is
/// called by, such as a name with a blank in it, is one here, too.
package struct ServerPlace: Equatable, Sendable {
    /// The server alone, as the flag that asks for a server takes it.
    package let server: String

    /// Below the folder of that server; `/` for that itself.
    package let path: String

    /// Server and path, as the same flag takes them for a folder.
    package let target: String

    private static let colon = UInt8(ascii: ":")
    private static let slash = UInt8(ascii: "/")

    /// Byte by byte: in a text some letters make one character with a sign before them.
    ///
    /// - Returns: nothing for a text that names something here.
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

    /// What a flag that asks for a server is given, in one of its forms: `home:/a` for `home:a`.
    static func canonical(_ text: String) -> String { ServerPlace(text)?.target ?? text }

    /// Another path on the same server.
    func beside(_ path: String) -> String {
        let name = server.utf8.prefix { $0 != UInt8(ascii: "#") }
        let secret = server.utf8[name.endIndex...]
        return ServerPlace(String(Substring(name)), below: path.utf8).target + String(Substring(secret))
    }

    /// What tells servers apart: the same for all texts that name one, as far as that can be said here.
    var serverName: String {
        let text = server.utf8.last == Self.slash ? server.utf8.dropLast() : server.utf8[...]
        let name = String(Substring(text.last == Self.colon ? text.dropLast() : text))
        guard !Remote.isName(name), let address = ServerAddress(server), address.web == nil else { return name }
        return address.server
    }

    /// What has no path of its own, or none that can be told.
    private init(whole text: String) {
        (server, path, target) = (text, "/", text)
    }

    private init(server: String, path: String, target: String) {
        (self.server, self.path, self.target) = (server, path, target)
    }

    /// The code and the key of a link belong to its server.
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
        // What another program calls its servers by is no name here.
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
            // A name with nothing behind it is that of a remote and of no host.
            self.init(rest.isEmpty && Remote.isName(server) ? "\(server):" : "\(server):/", below: rest)
        } else if Self.isServer(server) || Self.hasPort(port) && Self.isServer(host) {
            self.init(server, below: rest)
        } else if Self.isServer(host) {
            self.init("\(host):/", below: Self.fromHome(path))
        } else {
            return nil
        }
    }

    /// The colon that ends a name, before any slash; behind the bracket of an IPv6 address.
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

    /// Whether digits alone stand in front of the first slash: no path, also where they are too many for a port, and none where
    /// the code of a link follows that lacks its beginning.
    private static func hasPort(_ path: Substring.UTF8View) -> Bool {
        let digits = path.prefix { $0 != slash && $0 != UInt8(ascii: "#") }
        return !digits.isEmpty && digits.allSatisfy { (0x30...0x39).contains($0) }
    }

    /// Whether a server may be called so: a name, an address, or one of these with a port.
    private static func isServer(_ text: String) -> Bool {
        if Remote.isName(text) { return true }
        let name = text.utf8.prefix { $0 != colon }
        let isAddress = text.utf8.first == UInt8(ascii: "[") || text.utf8.count(where: { $0 == colon }) > 1
        return (isAddress || TransferLink.isHost(String(Substring(name)))) && ServerAddress(text) != nil
    }

    /// There is no home on a server: `~` is the top, where paths without a slash begin as well.
    private static func fromHome(_ path: Substring.UTF8View) -> Substring.UTF8View {
        guard path.first == UInt8(ascii: "~") else { return path }
        let rest = path.dropFirst()
        return rest.isEmpty || rest.first == slash ? rest : path
    }
}
