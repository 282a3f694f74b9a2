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
        // By bytes: a slash and a mark that is put on it are one character.
        let isUnix = text.utf8.starts(with: Endpoint.unixPrefix.utf8)
        let slash = isUnix ? nil : text.utf8.firstIndex(of: UInt8(ascii: "/"))
        let host = text[..<(slash ?? text.endIndex)]
        guard let endpoint = Endpoint(String(host), defaultPort: Self.defaultPort) else { return nil }
        self.endpoint = endpoint
        let folders = text.utf8[(slash ?? text.endIndex)...].split(separator: UInt8(ascii: "/"))
        folder = folders.map { String(Substring($0)) }.joined(separator: "/")
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
