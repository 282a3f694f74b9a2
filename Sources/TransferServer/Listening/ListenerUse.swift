package import TransferIO

/// The use of a listener that does not have the usual front ends.
package enum ListenerUse: Sendable {
    case classic(ClassicListener)
    case http(PlainHTTPListener)

    /// Name of the listener, which stays the same when the server is started again.
    var name: String {
        switch self {
        case .classic(let listener): listener.name
        case .http(let listener): listener.name
        }
    }

    /// The number by which a supervisor identifies the listener.
    package var mark: Int32 { Self.mark(of: name) }

    /// 31 bits of the hash of a name (FNV-1a).
    static func mark(of name: String) -> Int32 {
        let hash = name.utf8.reduce(into: UInt32(0x811C_9DC5)) { hash, byte in
            hash = (hash ^ UInt32(byte)) &* 0x0100_0193
        }
        return Int32(truncatingIfNeeded: hash & 0x7FFF_FFFF)
    }

    var endpoint: Endpoint {
        switch self {
        case .classic(let listener): listener.endpoint
        case .http(let listener): listener.endpoint
        }
    }

    package var classic: ClassicListener? { if case .classic(let listener) = self { listener } else { nil } }

    package var http: PlainHTTPListener? { if case .http(let listener) = self { listener } else { nil } }
}

/// A listener for a reverse proxy. It has no encryption, so no client can show a key there.
package struct PlainHTTPListener: Sendable {
    package let endpoint: Endpoint

    package init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    var name: String { "http \(endpoint)" }

    /// Mode of a Unix socket: a proxy usually runs as another user, who can be in the server's group. Clients' rights are checked all the
    /// same.
    static let socketMode: UInt32 = 0o660
}
