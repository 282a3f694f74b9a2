internal import COpenSSL
internal import TransferKeys

/// Keys and codes made with SHA-256, as in the age format.
enum HashedKeys {
    /// HKDF-SHA-256 (RFC 5869) with 32 bytes of output.
    ///
    /// - Parameter salt: may be empty, which equals 32 zeros (RFC 5869, section 2.2).
    static func derive(from secret: SecretBytes, salt: [UInt8], info: String) throws(SealingError) -> SecretBytes {
        let context = try OpenSSL.made(EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil), "EVP_PKEY_CTX_new_id")
        defer { EVP_PKEY_CTX_free(context) }
        try OpenSSL.check(EVP_PKEY_derive_init(context), "EVP_PKEY_derive_init")
        try OpenSSL.check(EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()), "EVP_PKEY_CTX_set_hkdf_md")
        if !salt.isEmpty {
            let status = EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(truncatingIfNeeded: salt.count))
            try OpenSSL.check(status, "EVP_PKEY_CTX_set1_hkdf_salt")
        }
        let status = secret.withUnsafeBytes { bytes in
            EVP_PKEY_CTX_set1_hkdf_key(context, bytes.octets, Int32(truncatingIfNeeded: bytes.count))
        }
        try OpenSSL.check(status, "EVP_PKEY_CTX_set1_hkdf_key")
        let label = Array(info.utf8)
        try OpenSSL.check(
            EVP_PKEY_CTX_add1_hkdf_info(context, label, Int32(truncatingIfNeeded: label.count)),
            "EVP_PKEY_CTX_add1_hkdf_info")
        return try SecretBytes(count: Bytes32.count) { (key) throws(SealingError) in
            var size = key.count
            try OpenSSL.check(EVP_PKEY_derive(context, key.octets, &size), "EVP_PKEY_derive")
            guard size == key.count else { throw OpenSSL.failure("EVP_PKEY_derive") }
        }
    }

    /// The HMAC-SHA-256 (RFC 2104) of the bytes.
    static func code(of bytes: some Collection<UInt8>, under key: SecretBytes) throws(SealingError) -> Bytes32 {
        let bytes = Array(bytes)
        var code = Bytes32()
        var size: UInt32 = 0
        let made = key.withUnsafeBytes { key in
            code.withUnsafeMutableBytes { code in
                HMAC(
                    EVP_sha256(), key.baseAddress, Int32(truncatingIfNeeded: key.count), bytes, bytes.count,
                    code.octets, &size)
            }
        }
        guard made != nil, size == Bytes32.count else { throw OpenSSL.failure("HMAC") }
        return code
    }

    /// The SHA-256 digest of the bytes.
    static func digest(of bytes: [UInt8]) throws(SealingError) -> Bytes32 {
        var digest = Bytes32()
        var size: UInt32 = 0
        let status = digest.withUnsafeMutableBytes { digest in
            EVP_Digest(bytes, bytes.count, digest.octets, &size, EVP_sha256(), nil)
        }
        try OpenSSL.check(status, "EVP_Digest")
        return digest
    }

    /// Compares in constant time (CRYPTO_memcmp(3)).
    static func isEqual(_ a: Bytes32, _ b: Bytes32) -> Bool {
        a.withUnsafeBytes { a in b.withUnsafeBytes { b in CRYPTO_memcmp(a.baseAddress, b.baseAddress, a.count) == 0 } }
    }
}
