package import TransferIO
import TransferModel

/// Where to push to: a server and a folder below its directory.
public struct ServerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The port of a server that names none.
    public static let defaultPort: UInt16 = ServerPort.usual

    package let endpoint: Endpoint

    /// Put before the path of every upload; empty for the server's directory itself.
    public let folder: String

    /// Reads `HOST[:PORT][/FOLDER]`, `[IPv6]:PORT[/FOLDER]` or `unix:PATH`. Byte by byte: in a text some letters make one
    /// character with a slash before them.
    ///
    /// - Returns: nothing when the text is not an address.
    public init?(_ text: String) {
        let slash = UInt8(ascii: "/")
        let host = text.utf8.starts(with: "unix:".utf8) ? text.utf8[...] : text.utf8.prefix { $0 != slash }
        guard let endpoint = Endpoint(String(Substring(host)), defaultPort: Self.defaultPort) else { return nil }
        self.endpoint = endpoint
        let names = text.utf8[host.endIndex...].split(separator: slash).map { Substring($0) }
        folder = names.joined(separator: "/")
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
