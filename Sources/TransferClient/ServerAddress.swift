package import TransferIO

/// Where to push to: a server and a folder below its directory.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The port of a server that names none.
    public static let defaultPort: UInt16 = 5288

    package let endpoint: Endpoint

    /// Put before the path of every upload; empty for the server's directory itself.
    public let folder: String

    /// Reads `HOST[:PORT][/FOLDER]`, `[IPv6]:PORT[/FOLDER]` or `unix:PATH`.
    ///
    /// - Returns: nothing when the text is not an address.
    public init?(_ text: String) {
        let isUnix = text.hasPrefix("unix:")
        let slash = isUnix ? nil : text.firstIndex(of: "/")
        let host = text[..<(slash ?? text.endIndex)]
        guard let endpoint = Endpoint(String(host), defaultPort: Self.defaultPort) else { return nil }
        self.endpoint = endpoint
        let folder = slash.map { text[text.index(after: $0)...] } ?? ""
        self.folder = folder.split(separator: "/").joined(separator: "/")
    }

    package init(_ endpoint: Endpoint, folder: String) {
        self.endpoint = endpoint
        self.folder = folder
    }

    /// The server alone, as the list of known servers has it: names in lower case, always with the port.
    public var server: String {
        switch endpoint {
        case .internet: "\(endpoint)".lowercased()
        case .unix: "\(endpoint)"
        }
    }

    /// The address as it can be given again.
    public var description: String { folder.isEmpty ? "\(endpoint)" : "\(endpoint)/\(folder)" }
}
