internal import COpenSSL
import Glibc
package import TransferSystem

/// TLS settings shared by the connections of one side: the profile, the identity and, on a client, the latest session
/// ticket. Making the first context in a process takes some milliseconds.
///
/// `@unchecked Sendable`: OpenSSL locks data that connections on several threads share (openssl-threads(7)). The
/// context is not changed after initialisation, and the ticket is locked.
package final class TLSContext: @unchecked Sendable {
    /// The side of a connection.
    enum Side {
        case server, client
    }

    /// Records after which a key is replaced. AES-GCM permits about 2^24.5 under one key (RFC 8446, section 5.5).
    package static let recordsPerKey = 1 << 23

    let raw: OpaquePointer
    let side: Side
    let recordsPerKey: Int
    let protocols: ProtocolNames
    let web: Web
    private let ticket = Locked<TLSTicket?>(nil)
    private let isTrustLoaded = Locked(false)

    /// The public key that this side shows; nil for a client that shows none.
    package private(set) var key: TLSKey?

    /// Makes the server's context. The server requests a certificate from clients but does not demand one, and accepts
    /// any certificate with an Ed25519 key. Callers decide to whom the key belongs.
    ///
    /// - Parameters:
    ///   - protocols: registered names of protocols above TLS; the first one that a client offers is chosen.
    ///   - webProtocols: those of the protocols that browsers use. A client that offers only these and doesn't support
    ///     Ed25519 is not asked for a certificate.
    ///   - browser: the certificate that is shown to clients that offer only web protocols, and to clients that do not
    ///     support Ed25519.
    ///   - usesWideAES: false only in tests.
    ///   - recordsPerKey: a smaller number only in tests.
    /// - Throws: `TLSError` for unusable files.
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

    /// Makes the client's context.
    ///
    /// - Parameters:
    ///   - identity: the identity that is shown to servers that request a certificate; nil to show none.
    ///   - protocols: registered names of the protocols that are offered to servers.
    ///   - recordsPerKey: a smaller number only in tests.
    /// - Throws: `TLSError` for unusable files.
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
        // The provider is preferred and not required, because it has only one cipher.
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

    /// Whether AES-GCM uses the library for processors with wide AES instructions.
    package static var hasWideAES: Bool { wideAESRefusal == nil }

    /// The reason why the library is not used; nil if it is used. The first call in the process loads the library and
    /// compares it with OpenSSL.
    package static let wideAESRefusal: LibraryRefusal? = {
        // OpenSSL's configuration files must not weaken the profile, and its exit handlers must not free data that
        // other threads use. If this call fails, all later ones fail too.
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

    /// Whether the certificate is valid for a name or an address. If there are two certificates, the one for browsers
    /// is examined.
    package func covers(_ name: String) -> Bool {
        SSL_CTX_get0_certificate(raw).map { CertifiedKey.covers($0, name) } ?? false
    }

    /// - Returns: true in the first call only.
    func mustLoadTrust() -> Bool {
        isTrustLoaded.withLock { isLoaded in
            defer { isLoaded = true }
            return !isLoaded
        }
    }

    /// The latest ticket, with which a new connection resumes a session.
    var latestTicket: TLSTicket? { ticket.withLock { $0 } }

    func keep(_ new: TLSTicket) {
        ticket.withLock { $0 = new }
    }
}

/// How the server treats client hellos.
extension TLSContext {
    /// Protocols and certificate for browsers.
    struct Web: Sendable {
        /// Registered names of the protocols that browsers use.
        let protocols: [String]

        /// Names of the other protocols.
        let others: [String]

        /// Whether there is a second certificate for browsers.
        let hasCertificate: Bool
    }

    /// Signature algorithms in order of preference. Clients of other protocols get the certificate of the identity if
    /// they support Ed25519. Clients of the web get the other certificate, which has names.
    private static let algorithms = (usual: "ed25519:ECDSA+SHA256", web: "ECDSA+SHA256:ed25519")

    /// - Returns: false if OpenSSL lacks a feature.
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
        // A browser would ask its user for a certificate, and has no Ed25519 key.
        if !offer.knowsEd25519 { SSL_set_verify(session, SSL_VERIFY_NONE, nil) }
        return !web.hasCertificate || copenssl_prefer_algorithms(session, Self.algorithms.web) == 1
    }
}

extension TLSContext {
    /// Uses an Ed25519 key as identity.
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

    /// Makes a certificate that contains only the key, because clients that know the key ignore the rest. It never
    /// expires. Dates before 2050 are encoded in the shorter of two forms (RFC 5280, section 4.1.2.5).
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

    /// Uses a second certificate, besides that of the identity.
    func show(_ browser: BrowserCertificate) throws(TLSError) {
        let pair = try browser.handles()
        guard SSL_CTX_use_certificate(raw, pair.certificate) == 1, SSL_CTX_use_PrivateKey(raw, pair.key) == 1 else {
            throw TLSError("The certificate for browsers cannot be used: \(TLSFault.taken().reason).")
        }
    }

    /// Uses a certificate and a key from files.
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

    /// Describes OpenSSL's first error, which is the cause; later ones are consequences.
    fileprivate static func problem() -> String {
        let code = ERR_peek_error()
        ERR_clear_error()
        return ERR_reason_error_string(code).map { String(cString: $0) } ?? "it is not PEM, or is encrypted"
    }
}

/// The identity that one side proves.
package enum TLSIdentity: Sendable {
    /// An Ed25519 key, shown in a self-signed certificate.
    ///
    /// - Parameter seed: 32 bytes (RFC 8032, section 5.1.5).
    case ed25519(seed: [UInt8])

    /// A certificate with its intermediates, and its key; paths of PEM files.
    case files(certificate: String, key: String)
}

/// The TLS profile of both sides; docs/reference/protocol.md has it as a table.
extension TLSContext {
    /// AES with a 128-bit key is the fastest on CPUs with AES instructions, and ChaCha20 on others.
    private static let ciphers =
        copenssl_has_aes() != 0
        ? "TLS_AES_128_GCM_SHA256:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_256_GCM_SHA384"
        : "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384"

    private static let groups = "X25519:P-256:P-384"

    /// Most bytes of the peer's certificates: a chain has some thousand bytes, and the memory is allocated before the
    /// peer is authenticated.
    private static let longestCertificates = 32 << 10

    /// Seconds for which a session can be resumed.
    private static let ticketLife = 7200

    /// - Returns: false if OpenSSL lacks a feature.
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
            // A ticket contains the whole state of a session, so the server stores none. One ticket for each connection
            // is enough, because clients use the latest one for all new connections.
            copenssl_set_session_cache(raw, Int(SSL_SESS_CACHE_OFF))
            let scope = Array("transfer".utf8)
            return SSL_CTX_set_num_tickets(raw, 1) == 1
                && SSL_CTX_set_session_id_context(raw, scope, UInt32(scope.count)) == 1
        case .client:
            // Unlike other functions, this one returns 0 on success (SSL_CTX_set_alpn_protos(3)).
            return SSL_CTX_set_alpn_protos(raw, protocols.list.baseAddress, UInt32(protocols.list.count)) == 0
        }
    }

    /// Requests certificates from clients and accepts those with an Ed25519 key.
    func askForCertificate() {
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(
            raw,
            { store, _ in
                let key = X509_STORE_CTX_get0_cert(store).flatMap { TLSKey(certificate: $0) }
                return key?.isEd25519 == true ? 1 : 0
            }, nil)
    }

    /// Lets each connection's judge examine the server's certificate before the client sends anything else.
    func judgeServers() {
        SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nil)
        SSL_CTX_set_cert_verify_callback(
            raw,
            { store, _ in
                guard let store, let session = TLSSession.verifying(store) else { return 0 }
                return session.judge(store) ? 1 : 0
            }, nil)
    }

    /// Keeps tickets. They arrive after the handshake, so they are only from trusted servers.
    func keepTickets() {
        copenssl_set_session_cache(raw, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        SSL_CTX_sess_set_new_cb(raw) { session, ticket in
            guard let ticket, let session = TLSSession.of(session) else { return 0 }
            // Returning 1 takes ownership of the ticket.
            session.context.keep(TLSTicket(owning: ticket))
            return 1
        }
    }
}

extension TLSContext {
    /// Files in which distributions keep trusted certificates. OpenSSL itself looks only in the places that were
    /// compiled into it.
    private static let bundles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Verifies a server's certificate as any TLS client does: issuer, names, and validity.
    ///
    /// - Parameter store: OpenSSL's verification context, which knows the requested name.
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

    /// Makes a client trust the certificates in one file instead of the system's.
    ///
    /// - Parameter path: a file with one or more certificates in PEM.
    /// - Throws: `TLSError` if the file cannot be read or has no certificate.
    package func trust(onlyAuthoritiesIn path: String) throws(TLSError) {
        ERR_clear_error()
        guard let store = SSL_CTX_get_cert_store(raw), mustLoadTrust(), X509_STORE_load_file(store, path) == 1 else {
            throw TLSError("The certificates in '\(path)' cannot be used: \(Self.problem()).")
        }
    }

    /// Loads the system's trusted certificates now, for a program that loses access to files later, and for contexts
    /// that several threads use.
    package func loadSystemTrust() {
        loadTrust(SSL_CTX_get_cert_store(raw))
    }

    /// Loads the trusted certificates only when they are needed, because reading a file with all of them takes longer
    /// than the handshake.
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
