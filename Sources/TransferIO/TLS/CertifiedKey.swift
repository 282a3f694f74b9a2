internal import COpenSSL

/// OpenSSL's handles of a P-256 key and the certificate for it.
final class CertifiedKey {
    let key: OpaquePointer
    private(set) var certificate: OpaquePointer

    private init(_ key: OpaquePointer, _ certificate: OpaquePointer) {
        (self.key, self.certificate) = (key, certificate)
    }

    deinit {
        X509_free(certificate)
        EVP_PKEY_free(key)
    }

    /// Makes a key, with an empty certificate.
    static func new() throws(TLSError) -> CertifiedKey {
        guard let key = copenssl_new_p256() else {
            throw TLSError("No key for browsers can be made: \(TLSFault.taken().reason).")
        }
        guard let certificate = X509_new() else {
            EVP_PKEY_free(key)
            throw TLSError("No certificate for browsers can be made: \(TLSFault.taken().reason).")
        }
        return CertifiedKey(key, certificate)
    }

    /// - Returns: nil unless it is a P-256 key with its certificate.
    init?(pem: [UInt8]) {
        defer { ERR_clear_error() }
        guard let source = BIO_new_mem_buf(pem, Int32(clamping: pem.count)) else { return nil }
        defer { BIO_free(source) }
        // Encrypted keys are refused, because there is no user to ask for a passphrase.
        guard let key = PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil) else { return nil }
        guard let certificate = PEM_read_bio_X509(source, nil, { _, _, _, _ in -1 }, nil) else {
            EVP_PKEY_free(key)
            return nil
        }
        (self.key, self.certificate) = (key, certificate)
        guard EVP_PKEY_get_id(key) == EVP_PKEY_EC, EVP_PKEY_get_bits(key) == 256,
            X509_check_private_key(certificate, key) == 1
        else { return nil }
    }

    /// Key and certificate in PEM, the key first.
    var pem: [UInt8]? {
        guard let target = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(target) }
        guard PEM_write_bio_PrivateKey(target, key, nil, nil, 0, nil, nil) == 1,
            PEM_write_bio_X509(target, certificate) == 1
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(target))
        let count = BIO_read(target, &bytes, Int32(clamping: bytes.count))
        return count == bytes.count && count > 0 ? bytes : nil
    }

    /// SHA-256 digest of the certificate in DER.
    var fingerprint: [UInt8]? {
        var digest = [UInt8](repeating: 0, count: 32)
        var count = UInt32(digest.count)
        return X509_digest(certificate, EVP_sha256(), &digest, &count) == 1 && count == 32 ? digest : nil
    }

    /// The public key in DER (SubjectPublicKeyInfo).
    var publicKey: [UInt8] {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &start)
        guard count > 0, let start else { return [] }
        defer { CRYPTO_free(start, #file, #line) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }

    /// - Parameter made: the new certificate; this object takes ownership.
    func replace(by made: OpaquePointer) {
        X509_free(certificate)
        certificate = made
    }

    // MARK: Properties

    func isValid(at now: Int64, andFor seconds: Int64) -> Bool {
        var (now, end) = (time_t(now), time_t(now + seconds))
        return X509_cmp_time(X509_get0_notBefore(certificate), &now) < 0
            && X509_cmp_time(X509_get0_notAfter(certificate), &end) > 0
    }

    /// Whether the certificate is valid for a name or an address.
    func covers(_ name: String) -> Bool { Self.covers(certificate, name) }

    static func covers(_ certificate: OpaquePointer, _ name: String) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_ip_asc(certificate, name, 0) == 1
            || X509_check_host(certificate, name, name.utf8.count, 0, nil) == 1
    }

    /// Content of the extension in a certificate; nil if it has no extension.
    static func binding(in certificate: OpaquePointer) -> [UInt8]? {
        guard let kind = OBJ_txt2obj(BrowserCertificate.extensionName, 1) else { return nil }
        defer { ASN1_OBJECT_free(kind) }
        guard let found = X509_get_ext(certificate, X509_get_ext_by_OBJ(certificate, kind, -1)),
            let content = X509_EXTENSION_get_data(found)
        else { return nil }
        return Array(
            UnsafeBufferPointer(start: ASN1_STRING_get0_data(content), count: Int(ASN1_STRING_length(content))))
    }

    func isSigned(by owner: BrowserCertificate.Owner) -> Bool {
        defer { ERR_clear_error() }
        guard let bytes = Self.binding(in: certificate) else { return false }
        let expected = CertifiedKey.binding(owner.key)
        guard bytes.starts(with: expected), bytes.count == expected.count + CertifiedKey.signatureSize else {
            return false
        }
        return owner.verifies(Array(bytes[expected.count...]), BrowserCertificate.statement + publicKey)
    }

    /// Bytes of an Ed25519 signature.
    static let signatureSize = 64

    /// Content of the extension: an OCTET STRING of 96 bytes with the identity's key and its signature.
    ///
    /// - Returns: everything before the signature.
    static func binding(_ key: [UInt8]) -> [UInt8] {
        [UInt8(V_ASN1_OCTET_STRING), UInt8(truncatingIfNeeded: key.count + signatureSize)] + key
    }
}
