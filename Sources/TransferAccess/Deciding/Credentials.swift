package import TransferKeys
package import TransferSystem

/// The credentials of a client that wants to be admitted.
package struct Credentials: Sendable {
    /// Network for which failed attempts are counted; nil for clients on this machine.
    package let network: PeerNetwork?

    /// Whether the client is on this machine.
    package let isLocal: Bool

    /// The public key whose private key the client has, as it has proven.
    package var key: PublicKey?

    /// The token as it was sent, unchecked.
    package var token: String?

    /// The secret of a browser's session as it was sent, unchecked. Ignored if there is a token.
    package var session: String?

    /// The name that the client gives its machine, unchecked.
    package var hostName: String?

    package init(
        network: PeerNetwork?, isLocal: Bool, key: PublicKey? = nil, token: String? = nil, hostName: String? = nil
    ) {
        (self.network, self.isLocal) = (network, isLocal)
        (self.key, self.token, self.hostName) = (key, token, hostName)
    }
}
