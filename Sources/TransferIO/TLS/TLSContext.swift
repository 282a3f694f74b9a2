internal import COpenSSL
import Glibc
package import TransferSystem

/// What the connections of one side share: the TLS profile, the identity, and on a client the ticket of the last
/// conversation. The first one in a process costs some milliseconds.
///
/// `@unchecked Sendable`: OpenSSL locks what connections of several threads share in it (openssl-threads(7)); it is not
/// changed after it was made, and the ticket is locked.
package final class TLSContext: @unchecked Sendable {
    /// Which side.
    enum Side {
        case server, client
    }

    /// Records after which a key is renewed. Under one of AES-GCM there may be some 2^24.5 (RFC 8446, section 5.5).
    package static let recordsPerKey = 1 << 23

    let raw: OpaquePointer
    let side: Side
    let recordsPerKey: Int
    let protocols: ProtocolNames
    let web: Web
    private let ticket = Locked<TLSTicket?>(nil)
    private let isTrustLoaded = Locked(false)

    /// The public key that this side shows; nothing for a client that shows none.
    package private(set) var key: TLSKey?

    /// The server's side. It asks clients for a certificate and takes none for an answer, and any that holds an Ed25519
    /// key: who the key belongs to is for others to know.
    ///
    /// - Parameters:
    ///   - protocols: what may run above TLS, by its registered names; the first one that a client offers is taken.
    ///   - webProtocols: of these, what browsers speak. Who offers no other one and doesn't know Ed25519 isn't asked.
    ///   - browser: shown to those who offer these, and to whoever doesn't know Ed25519.
    ///   - usesWideAES: false in tests.
    ///   - recordsPerKey: fewer in tests.
    /// - Throws: `TLSError` for files that cannot be used.
    package static func server(
        _ identity: TLSIdentity, protocols: [String], webProtocols: [String] = [], browser: BrowserCertificate? = nil,
        usesWideAES: Bool = hasWideAES, recordsPerKey: Int = recordsPerKey
    ) throws(TLSError) -> TLSContext {
        let web = Web(
            protocols: webProtocols, others: protocols.filter { !webProtocols.contains($0) },
            hasCertificate: browser != nil)
        let context = try TLSContext(
            .server, ProtocolNames(protocols), web, usesWideAES: usesWideAES, recordsPerKey: recordsPerKey)
        try context.show(identity)
        if let browser { try context.show(browser) }
        context.askForCertificate()
        guard context.regardHellos() else { throw TLSError("TLS cannot be used: \(TLSFault.taken().reason).") }
        return context
    }

    /// The client's side.
    ///
    /// - Parameters:
    ///   - identity: shown to servers that ask; nothing to stay unknown.
    ///   - protocols: offered to servers, by their registered names.
    ///   - recordsPerKey: fewer in tests.
    /// - Throws: `TLSError` for files that cannot be used.
    package static func client(
        _ identity: TLSIdentity? = nil, protocols: [String], recordsPerKey: Int = recordsPerKey
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(
            .client, ProtocolNames(protocols), Web(protocols: [], others: protocols, hasCertificate: false),
            usesWideAES: hasWideAES, recordsPerKey: recordsPerKey)
        if let identity { try context.show(identity) }
        context.judgeServers()
        context.keepTickets()
        return context
    }

    private init(
        _ side: Side, _ protocols: ProtocolNames, _ web: Web, usesWideAES: Bool, recordsPerKey: Int
    ) throws(TLSError) {
        let method = side == .server ? TLS_server_method() : TLS_client_method()
        // Preferred, not required: it has one cipher and nothing else.
        guard let raw = SSL_CTX_new_ex(nil, usesWideAES ? "?provider=ipsec-mb" : nil, method) else {
            throw TLSError("TLS cannot be used: \(TLSFault.taken().reason).")
        }
        self.raw = raw
        self.side = side
        self.protocols = protocols
        self.web = web
        self.recordsPerKey = recordsPerKey
        guard applyProfile() else { throw TLSError("TLS 1.3 cannot be used: \(TLSFault.taken().reason).") }
    }

    deinit {
        SSL_CTX_free(raw)
    }

    /// Whether AES-GCM comes from the library for processors with wide AES instructions.
    package static var hasWideAES: Bool { wideAESRefusal == nil }

    /// Why it doesn't; the first call in the process looks for the library and compares it with OpenSSL's own.
    package static let wideAESRefusal: LibraryRefusal? = {
        // No configuration of the machine may weaken the profile, and no handler at exit may free what other threads use.
        // If that fails, so does all that follows.
        OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG) | UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
        return WideAES.refusal
    }()

    private func show(_ identity: TLSIdentity) throws(TLSError) {
        switch identity {
        case .ed25519(let seed): try show(seed: seed)
        case .files(let certificate, let key): try show(certificate: certificate, key: key)
        }
        key = SSL_CTX_get0_certificate(raw).flatMap { TLSKey(certificate: $0) }
    }

    /// Whether a certificate that it shows is for a name or an address; of two, that for browsers.
    package func covers(_ name: String) -> Bool {
        SSL_CTX_get0_certificate(raw).map { CertifiedKey.covers($0, name) } ?? false
    }

    /// - Returns: true once.
    func mustLoadTrust() -> Bool {
        isTrustLoaded.withLock { isLoaded in
            defer { isLoaded = true }
            return !isLoaded
        }
    }

    /// The latest ticket, for a connection that resumes what an earlier one began.
    var latestTicket: TLSTicket? { ticket.withLock { $0 } }

    func keep(_ new: TLSTicket) {
        ticket.withLock { $0 = new }
    }
}

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

extension TLSContext {
    /// Shows an Ed25519 key.
    func show(seed: [UInt8]) throws(TLSError) {
        guard seed.count == TLSKey.ed25519Size,
            let pair = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
        else { throw TLSError("The identity is not an Ed25519 key.") }
        defer { EVP_PKEY_free(pair) }
        guard let certificate = Self.certificate(signedBy: pair) else {
            throw TLSError("No certificate can be made: \(TLSFault.taken().reason).")
        }
        defer { X509_free(certificate) }
        guard SSL_CTX_use_certificate(raw, certificate) == 1, SSL_CTX_use_PrivateKey(raw, pair) == 1 else {
            throw TLSError("The identity cannot be used for TLS: \(TLSFault.taken().reason).")
        }
    }

    /// A certificate that says nothing but the key: whoever knows the key looks at nothing else. It never expires,
    /// and dates before 2050 are written in the shorter of two forms (RFC 5280, section 4.1.2.5).
    private static func certificate(signedBy pair: OpaquePointer) -> OpaquePointer? {
        guard let certificate = X509_new() else { return nil }
        let name = X509_get_subject_name(certificate)
        let isMade =
            X509_set_version(certificate, Int(X509_VERSION_3)) == 1
            && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1
            && ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate), "20200101000000Z") == 1
            && ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate), "99991231235959Z") == 1
            && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "transfer", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
            && X509_set_pubkey(certificate, pair) == 1
            && X509_sign(certificate, pair, nil) > 0
        guard isMade else {
            X509_free(certificate)
            return nil
        }
        return certificate
    }

    /// Shows a second certificate, beside that of the identity.
    func show(_ browser: BrowserCertificate) throws(TLSError) {
        let pair = try browser.handles()
        guard SSL_CTX_use_certificate(raw, pair.certificate) == 1, SSL_CTX_use_PrivateKey(raw, pair.key) == 1 else {
            throw TLSError("The certificate for browsers cannot be used: \(TLSFault.taken().reason).")
        }
    }

    /// Shows what stands in files.
    func show(certificate: String, key: String) throws(TLSError) {
        ERR_clear_error()
        guard SSL_CTX_use_certificate_chain_file(raw, certificate) == 1 else {
            throw TLSError("The certificate '\(certificate)' cannot be used: \(Self.problem()).")
        }
        guard SSL_CTX_use_PrivateKey_file(raw, key, SSL_FILETYPE_PEM) != 1 else { return }
        let mismatches = [X509_R_KEY_VALUES_MISMATCH, X509_R_KEY_TYPE_MISMATCH]
        guard !mismatches.contains(copenssl_error_reason(ERR_peek_error())) else {
            ERR_clear_error()
            throw TLSError("The key '\(key)' is not that of the certificate '\(certificate)'.")
        }
        throw TLSError("The key '\(key)' cannot be used: \(Self.problem()).")
    }

    /// The first error says what was wrong with the file; those behind it what could not be done therefore.
    private static func problem() -> String {
        let code = ERR_peek_error()
        ERR_clear_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "it is not PEM, or is encrypted"
    }
}

/// What one side proves to be.
package enum TLSIdentity: Sendable {
    /// An Ed25519 key, shown in a certificate that it signs itself.
    ///
    /// - Parameter seed: 32 bytes (RFC 8032, section 5.1.5).
    case ed25519(seed: [UInt8])

    /// A certificate with those between it and a root, and its key; paths of PEM files.
    case files(certificate: String, key: String)
}

/// What both sides insist on; docs/reference/protocol.md has it as a table.
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

extension TLSContext {
    /// Where distributions keep the certificates that they trust. OpenSSL itself looks only where the one that was linked
    /// in expects them.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Looks at a server's certificate as any TLS client does: who vouches for it, for which names, and for how long.
    ///
    /// - Parameter store: what OpenSSL made to verify it; it knows the name that was asked for.
    func problem(_ store: OpaquePointer) -> TLSProblem? {
        loadTrust(X509_STORE_CTX_get0_store(store))
        defer { ERR_clear_error() }
        guard X509_verify_cert(store) != 1 else { return nil }
        let code = X509_STORE_CTX_get_error(store)
        guard let leaf = X509_STORE_CTX_get0_cert(store) else { return .other("there is no certificate") }
        switch code {
        case _ where X509_cmp_current_time(X509_get0_notAfter(leaf)) < 0: return .expired
        case _ where X509_cmp_current_time(X509_get0_notBefore(leaf)) > 0: return .notYetValid
        case X509_V_ERR_CERT_HAS_EXPIRED: return .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: return .notYetValid
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: return .wrongName
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            return .unknownIssuer
        default: return .other(X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "error \(code)")
        }
    }

    /// Not before it is needed: where all of them are in one file, to read it takes longer than the handshake.
    private func loadTrust(_ store: OpaquePointer?) {
        guard let store, mustLoadTrust() else { return }
        X509_STORE_set_default_paths(store)
        let isConfigured = getenv("SSL_CERT_FILE") != nil || getenv("SSL_CERT_DIR") != nil
        let isThere = [X509_get_default_cert_dir(), X509_get_default_cert_file()].contains { path in
            path.map { access($0, R_OK) == 0 } ?? false
        }
        if !isConfigured, !isThere, let bundle = Self.bundles.first(where: { access($0, R_OK) == 0 }) {
            X509_STORE_load_file(store, bundle)
        }
        ERR_clear_error()
    }
}
