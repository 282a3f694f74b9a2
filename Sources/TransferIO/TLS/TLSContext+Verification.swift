internal import COpenSSL
import Glibc

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
