public import TransferKeys

/// How a client knows that it talks to the right server. A server whose key is known for its address is trusted, and no
/// other one at this address. Of those without a known key one is trusted whose certificate the system trusts, for the name
/// that was asked for; about any other one `firstContact` decides.
public struct ServerTrust: Sendable {
    /// What to do about an unknown server.
    public enum FirstContact: Sendable {
        case refuse
        /// Trust it, now and from now on.
        case trust
        /// Trust it if the answer is yes. The connection is closed meanwhile.
        case ask(@Sendable (UnknownServer) async -> Bool)
    }

    /// The only key that is trusted, whatever else is known; nothing for any that is known.
    public var key: KeyFingerprint?

    /// The key that the server has announced: see `FoundServer.fingerprint`. It makes nobody trusted, but a server that shows
    /// another one is refused, because it is not the one that was found: answers can be copied, and keys can't. Nothing where
    /// nothing was announced.
    public var announced: KeyFingerprint?

    /// Whether `key` is known for the address from then on, once the server has proved that it has it.
    public var keepsKey = false

    /// What to do about an unknown server.
    public var firstContact = FirstContact.refuse

    /// Where keys are known from and kept; nothing to know and keep none.
    public var known: KnownServers?

    /// Trusts what the user's own list knows.
    public init() {
        known = .standard
    }
}

/// A server that the client doesn't know, and that nobody known vouches for.
public struct UnknownServer: Sendable, Equatable {
    /// As it stands in the list of known servers.
    public let address: String

    /// Of the key that it shows; its log says the same one when it starts.
    public let fingerprint: KeyFingerprint

    /// Whether it says in its TLS that it speaks Transfer; one that doesn't is another service, or hides behind one.
    public var speaksTransfer = true
}
