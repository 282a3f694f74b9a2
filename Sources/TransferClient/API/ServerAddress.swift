package import TransferHTTP
package import TransferIO
import TransferModel

/// The address of a server and a folder below its directory.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The default port, for addresses that state no port.
    public static let defaultPort: UInt16 = ServerPort.usual

    package let endpoint: Endpoint

    /// The folder in front of the path of every upload; empty for the server's directory itself.
    public let folder: String

    /// The URL if the server is addressed by HTTP; otherwise nil. Uploads are then stored below the path of the URL,
    /// and `folder` is empty.
    package let web: WebAddress?

    /// Parses `HOST[:PORT][/FOLDER]`, `[IPv6]:PORT[/FOLDER]` or `unix:PATH`. As in scp, another colon may precede the
    /// slash: `HOST:/FOLDER`. A push also accepts `https://[USER:PASSWORD@]HOST[:PORT][/FOLDER/]`, or the same with
    /// `http`. The text is read byte by byte, because a combining mark after a slash forms one character with it.
    ///
    /// - Returns: nil if the text is not an address.
    public init?(_ text: String) {
        if WebAddress.isMeant(text) {
            guard let web = WebAddress(text) else { return nil }
            self.init(web)
            return
        }
        let slash = UInt8(ascii: "/")
        let host = text.utf8.starts(with: "unix:".utf8) ? text.utf8[...] : text.utf8.prefix { $0 != slash }
        guard let endpoint = Self.endpoint(host, before: text.utf8[host.endIndex...]) else { return nil }
        let names = text.utf8[host.endIndex...].split(separator: slash).map { Substring($0) }
        self.init(endpoint, folder: names.joined(separator: "/"))
    }

    /// Parses the part before the path. A colon at its end is removed only if the part is not an address with the
    /// colon, because an IPv6 address can end with two colons. A colon before two slashes belongs to a link and is not
    /// removed: a mistyped link can contain a code, which must not be looked up as a name.
    private static func endpoint(_ host: Substring.UTF8View, before path: Substring.UTF8View) -> Endpoint? {
        if let endpoint = Endpoint(String(Substring(host)), defaultPort: defaultPort) { return endpoint }
        guard host.last == UInt8(ascii: ":"), !path.isEmpty, !path.starts(with: "//".utf8) else { return nil }
        return Endpoint(String(Substring(host.dropLast())), defaultPort: defaultPort)
    }

    package init(_ endpoint: Endpoint, folder: String) {
        self.endpoint = endpoint
        self.folder = folder
        web = nil
    }

    private init(_ web: WebAddress) {
        (endpoint, folder, self.web) = (.internet(host: web.host, port: web.port), "", web)
    }

    /// Whether a text is meant as an HTTP or HTTPS URL.
    package static func isURL(_ text: String) -> Bool { WebAddress.isMeant(text) }

    /// Whether the address has a password, which `description` omits.
    package var hasPassword: Bool { web?.credentials != nil }

    /// The address of a folder below this one, on the same server.
    package func below(_ name: String) -> ServerAddress {
        if let web { return ServerAddress(web.below(name)) }
        return ServerAddress(endpoint, folder: [folder, name].filter { !$0.isEmpty }.joined(separator: "/"))
    }

    /// The server alone, in the form of the list of known servers: names in lower case, always with a port.
    public var server: String {
        switch endpoint {
        case .internet: "\(endpoint)".lowercased()
        case .unix: "\(endpoint)"
        }
    }

    /// The address in the form that `init(_:)` parses, without a password.
    public var description: String {
        if let web { return web.description }
        return folder.isEmpty ? "\(endpoint)" : "\(endpoint)/\(folder)"
    }
}
