public import TransferKeys

/// How a client recognizes the right server. If a key is known for the address, only a server with that key is trusted.
/// If none is known, a server is trusted whose certificate the system trusts for the name in the address.
/// `firstContact` decides about a certificate of an unknown issuer; one that is expired or has another name is refused.
public struct ServerTrust: Sendable {
    /// The decision about an unknown server.
    public enum FirstContact: Sendable {
        case refuse
        /// Trust it now, and remember its key.
        case trust
        /// Trust it if the closure returns true. The connection is closed while the closure runs.
        case ask(@Sendable (UnknownServer) async -> Bool)
    }

    /// The only key that is trusted, whatever keys are known; nil to trust any known key.
    public var key: KeyFingerprint?

    /// The key that the server has announced in the network (`FoundServer.fingerprint`); nil if there was no
    /// announcement. An announcement makes no server trusted, because announcements can be copied. A server that shows
    /// another key is refused, because it is not the one that was found.
    public var announced: KeyFingerprint?

    /// Whether `key` is remembered for the address once the server has proved that it holds this key.
    public var keepsKey = false

    /// What to do about an unknown server.
    public var firstContact = FirstContact.refuse

    /// The list of known keys; nil to know no keys and to remember none.
    public var known: KnownServers?

    /// Trusts the servers in the user's own list.
    public init() {
        known = .standard
    }
}

/// A server whose key the client does not know and for which no trusted certificate vouches.
public struct UnknownServer: Sendable, Equatable {
    /// The address in the form of the list of known servers.
    public let address: String

    /// The fingerprint of the key that the server shows; the server logs the same one when it starts.
    public let fingerprint: KeyFingerprint

    /// Whether the server states in TLS that it speaks Transfer. If not, it is another service, or another service is
    /// in front of it.
    public var speaksTransfer = true
}
