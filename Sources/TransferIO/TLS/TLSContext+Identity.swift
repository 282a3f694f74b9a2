internal import COpenSSL

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
