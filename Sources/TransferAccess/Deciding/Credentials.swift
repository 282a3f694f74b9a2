package import TransferKeys
package import TransferSystem

/// What a client shows when it asks for admission.
package struct Credentials: Sendable {
    /// Network for which its attempts are counted; nil for this machine.
    package let network: PeerNetwork?

    /// Whether the client is on this machine.
    package let isLocal: Bool

    /// The key that it has proven to own.
    package var key: PublicKey?

    /// The token as it was sent, unchecked.
    package var token: String?

    /// The secret of a browser's session as it was sent, unchecked. Ignored if there is a token.
    package var session: String?

    /// The client's name for its machine, unchecked.
    package var hostName: String?

    package init(
        network: PeerNetwork?, isLocal: Bool, key: PublicKey? = nil, token: String? = nil, hostName: String? = nil
    ) {
        (self.network, self.isLocal) = (network, isLocal)
        (self.key, self.token, self.hostName) = (key, token, hostName)
    }
}
