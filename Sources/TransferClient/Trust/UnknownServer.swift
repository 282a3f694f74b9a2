public import TransferKeys

/// A server that the client doesn't know, and that nobody known vouches for.
public struct UnknownServer: Sendable, Equatable {
    /// As it stands in the list of known servers.
    public let address: String

    /// Of the key that it shows; its log says the same one when it starts.
    public let fingerprint: KeyFingerprint
}
