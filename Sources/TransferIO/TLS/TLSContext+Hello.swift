internal import COpenSSL

/// What a server makes of the first words of a client.
extension TLSContext {
    /// What browsers speak, and which certificate they get.
    struct Web: Sendable {
        /// Of what may run above TLS, by its registered names.
        let protocols: [String]

        /// The other names.
        let others: [String]

        /// Whether there is a certificate for them beside that of the identity.
        let hasCertificate: Bool
    }

    /// Whoever doesn't mean the web gets the certificate of the identity, where he understands it, and whoever means it the other
    /// one, which has names.
    private static let algorithms = (usual: "ed25519:ECDSA+SHA256", web: "ECDSA+SHA256:ed25519")

    /// - Returns: false when OpenSSL lacks something of it.
    func regardHellos() -> Bool {
        SSL_CTX_set_client_hello_cb(
            raw,
            { session, _, _ in
                guard let session, let context = TLSSession.of(session)?.context else { return SSL_CLIENT_HELLO_ERROR }
                return context.regard(HelloOffer(session), of: session)
                    ? SSL_CLIENT_HELLO_SUCCESS : SSL_CLIENT_HELLO_ERROR
            }, nil)
        return !web.hasCertificate || copenssl_set_algorithms(raw, Self.algorithms.usual) == 1
    }

    private func regard(_ offer: HelloOffer, of session: OpaquePointer) -> Bool {
        guard offer.offers(anyOf: web.protocols), !offer.offers(anyOf: web.others) else { return true }
        // A browser that is asked for a certificate asks its user. It has no Ed25519 key to show.
        if !offer.knowsEd25519 { SSL_set_verify(session, SSL_VERIFY_NONE, nil) }
        return !web.hasCertificate || copenssl_prefer_algorithms(session, Self.algorithms.web) == 1
    }
}
