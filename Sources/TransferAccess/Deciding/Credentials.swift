package import TransferKeys
package import TransferSystem

/// What is known of a client when it asks to be let in.
package struct Credentials: Sendable {
    /// Where its attempts are counted; nothing for this machine.
    package let network: PeerNetwork?

    /// Whether it is on this machine.
    package let isLocal: Bool

    /// The key that it has proven to have.
    package var key: PublicKey?

    /// What it sent as a token, just as it came.
    package var token: String?

    /// What a browser sent as that of its session, just as it came. Counts where there is no token.
    package var session: String?

    /// What it calls its machine, just as it came.
    package var hostName: String?

    package init(
        network: PeerNetwork?, isLocal: Bool, key: PublicKey? = nil, token: String? = nil, hostName: String? = nil
    ) {
        (self.network, self.isLocal) = (network, isLocal)
        (self.key, self.token, self.hostName) = (key, token, hostName)
    }
}
