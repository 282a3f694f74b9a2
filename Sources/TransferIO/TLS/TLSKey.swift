internal import COpenSSL

/// The public key of a certificate.
package struct TLSKey: Hashable, Sendable {
    /// Bytes of an Ed25519 key (RFC 8032).
    static let ed25519Size = 32

    /// For an Ed25519 key, its 32 bytes; for any other key, its SubjectPublicKeyInfo in DER (RFC 5280).
    package let bytes: [UInt8]

    package let isEd25519: Bool

    /// - Parameter key: the 32 bytes of an Ed25519 key.
    init(ed25519 key: [UInt8]) { (bytes, isEd25519) = (key, true) }

    /// - Returns: nil if OpenSSL doesn't understand the key.
    init?(certificate: OpaquePointer) {
        guard let key = X509_get0_pubkey(certificate) else {
            ERR_clear_error()
            return nil
        }
        isEd25519 = EVP_PKEY_get_id(key) == EVP_PKEY_ED25519
        guard let bytes = isEd25519 ? Self.raw(key) : Self.der(key) else {
            ERR_clear_error()
            return nil
        }
        self.bytes = bytes
    }

    private static func raw(_ key: OpaquePointer) -> [UInt8]? {
        var count = ed25519Size
        var bytes = [UInt8](repeating: 0, count: count)
        return EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 && count == ed25519Size ? bytes : nil
    }

    private static func der(_ key: OpaquePointer) -> [UInt8]? {
        var start: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &start)
        guard count > 0, let start else { return nil }
        defer { CRYPTO_free(start, #file, #line) }
        return Array(UnsafeBufferPointer(start: start, count: Int(count)))
    }
}
