package import TransferHTTP
package import TransferIO
import TransferModel

/// Where to push to: a server and a folder below its directory.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The port of a server that names none.
    public static let defaultPort: UInt16 = ServerPort.usual

    package let endpoint: Endpoint

    /// Put before the path of every upload; empty for the server's directory itself.
    public let folder: String

    /// Where HTTP is spoken, if it is; then uploads are put below its path, and `folder` is empty.
    package let web: WebAddress?

    /// Reads `HOST[:PORT][/FOLDER]`, `[IPv6]:PORT[/FOLDER]` or `unix:PATH`; before the slash another colon may stand, as scp
    /// has it: `HOST:/FOLDER`. Byte by byte: in a text some letters make one
    /// character with a slash before them. For pushes also `https://[USER:PASSWORD@]HOST[:PORT][/FOLDER/]`, or the same with
    /// `http`.
    ///
    /// - Returns: nothing when the text is not an address.
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

    /// Without the colon at its end only where it is none with it: an IPv6 address can end with two. Two slashes behind the
    /// colon are those of a link, which may have a code in it and is nothing to look up when it is mistyped.
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

    /// Whether a text is meant to be a URL of HTTP.
    package static func isURL(_ text: String) -> Bool { WebAddress.isMeant(text) }

    /// Whether there is a password in it, which is not shown when it is printed.
    package var hasPassword: Bool { web?.credentials != nil }

    /// The same server, and a folder below the one of this address.
    package func below(_ name: String) -> ServerAddress {
        if let web { return ServerAddress(web.below(name)) }
        return ServerAddress(endpoint, folder: [folder, name].filter { !$0.isEmpty }.joined(separator: "/"))
    }

    /// The server alone, as the list of known servers has it: names in lower case, always with the port.
    public var server: String {
        switch endpoint {
        case .internet: "\(endpoint)".lowercased()
        case .unix: "\(endpoint)"
        }
    }

    /// The address as it can be given again.
    public var description: String {
        if let web { return web.description }
        return folder.isEmpty ? "\(endpoint)" : "\(endpoint)/\(folder)"
    }
}
