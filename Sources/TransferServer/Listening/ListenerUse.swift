package import TransferIO

/// What a listener is for that has not the usual front ends.
package enum ListenerUse: Sendable {
    case classic(ClassicListener)
    case http(PlainHTTPListener)

    /// What it is called, also by a later server.
    var name: String {
        switch self {
        case .classic(let listener): listener.name
        case .http(let listener): listener.name
        }
    }

    /// What a supervisor calls it.
    package var mark: Int32 { Self.mark(of: name) }

    /// 31 bits of a name (FNV-1a).
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

/// Where a proxy brings what clients ask over HTTP. It knows no encryption, so nobody can show a key there.
package struct PlainHTTPListener: Sendable {
    package let endpoint: Endpoint

    package init(_ endpoint: Endpoint) {
        self.endpoint = endpoint
    }

    var name: String { "http \(endpoint)" }

    /// Of a Unix socket: a proxy mostly runs as another user, who can be in the server's group. Rights are asked all the same.
    static let socketMode: UInt32 = 0o660
}
