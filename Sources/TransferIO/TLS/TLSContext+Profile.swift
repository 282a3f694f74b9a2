internal import COpenSSL

/// What both sides insist on; docs/PROTOCOL.md has it as a table.
extension TLSContext {
    /// AES with a 128-bit key is the fastest where the CPU has instructions for it, and ChaCha20 where it has not.
    private static let ciphers =
        copenssl_has_aes() != 0
        ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
        : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"

    private static let groups = "X25519:P-256:P-384"

    /// Bytes of certificates that the other side may show: chains have some thousand, and memory is taken for them before
    /// anybody is known.
    private static let longestCertificates = 32 << 10

    /// Seconds for which a conversation can be resumed.
    private static let ticketLife = 7200

    /// - Returns: false when OpenSSL lacks something of it.
    func applyProfile() -> Bool {
        copenssl_set_options(raw)
        copenssl_set_longest_certificates(raw, Self.longestCertificates)
        copenssl_forbid_passphrases(raw)
        SSL_CTX_set_timeout(raw, Self.ticketLife)
        return copenssl_set_protocol(raw, TLS1_3_VERSION) == 1
            && SSL_CTX_set_ciphersuites(raw, Self.ciphers) == 1
            && copenssl_set_groups(raw, Self.groups) == 1
            && applyConversation()
    }

    private func applyConversation() -> Bool {
        switch side {
        case .server:
            if !protocols.list.isEmpty { copenssl_choose_protocols(raw, protocols.withLength) }
            // Everything is in the ticket, so the server keeps nothing. One for each connection is enough: clients use the
            // latest for all that they open.
            copenssl_set_session_cache(raw, Int(SSL_SESS_CACHE_OFF))
            let scope = Array("transfer".utf8)
            return SSL_CTX_set_num_tickets(raw, 1) == 1
                && SSL_CTX_set_session_id_context(raw, scope, UInt32(scope.count)) == 1
        case .client:
            // Unlike its neighbours, 0 is its success (SSL_CTX_set_alpn_protos(3)).
            return SSL_CTX_set_alpn_protos(raw, protocols.list.baseAddress, UInt32(protocols.list.count)) == 0
        }
    }

    /// A server's part in who its clients are.
    func askForCertificate() {
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(
            raw,
            { store, _ in
                let key = X509_STORE_CTX_get0_cert(store).flatMap { TLSKey(certificate: $0) }
                return key?.isEd25519 == true ? 1 : 0
            }, nil)
    }

    /// A client's part: each connection has a judge, who sees the certificate before anything else is said.
    func judgeServers() {
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(
            raw,
            { store, _ in
                guard let store, let session = TLSSession.verifying(store) else { return 0 }
                return session.judge(store) ? 1 : 0
            }, nil)
    }

    /// Tickets come after the handshake, so only those of servers that were trusted.
    func keepTickets() {
        copenssl_set_session_cache(raw, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        SSL_CTX_sess_set_new_cb(raw) { session, ticket in
            guard let ticket, let session = TLSSession.of(session) else { return 0 }
            // Returning 1 takes ownership of it.
            session.context.keep(TLSTicket(owning: ticket))
            return 1
        }
    }
}
