import TransferHTTP

/// How a request has come here: over its connection alone, or by a proxy that is believed.
struct HTTPWay: Equatable, Sendable {
    /// Whoever asks, and what he is held against.
    var origin: PeerOrigin

    /// Whether he came over TLS; nothing where nobody has said so.
    var isSecure: Bool?

    /// The authority that he asked for, as a proxy says it.
    var host: [UInt8]?

    /// Whether a browser asks for a host that this server doesn't know as itself.
    var isMisdirected = false

    /// Whether a page of this server has the origin (RFC 6454, section 7).
    func isOwn(_ origin: [UInt8], _ head: RequestHead) -> Bool {
        let hosts = host.map { [$0] } ?? head.fields.values("host")
        guard hosts.count == 1 else { return false }
        let schemes = isSecure.map { [$0 ? "https" : "http"] } ?? ["https", "http"]
        return schemes.contains { scheme in
            let prefix = Array("\(scheme)://".utf8)
            guard HTTPCharacter.areSame(origin.prefix(prefix.count), prefix) else { return false }
            let port = Array((scheme.utf8.count == 5 ? ":443" : ":80").utf8)
            return HTTPCharacter.areSame(
                Self.without(port, origin.dropFirst(prefix.count)), Self.without(port, hosts[0][...]))
        }
    }

    /// A host without the port that the scheme has anyway.
    private static func without(_ port: [UInt8], _ host: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        host.suffix(port.count).elementsEqual(port) ? host.dropLast(port.count) : host
    }
}
