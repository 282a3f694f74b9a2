internal import COpenSSL
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
