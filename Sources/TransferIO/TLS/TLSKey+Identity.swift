internal import COpenSSL

extension TLSKey {
    /// Takes the identity to which a certificate for browsers is bound. This verifies the identity's signature: only
    /// the identity can have bound the certificate's key.
    ///
    /// - Returns: nil for any other certificate.
    init?(identityOf certificate: OpaquePointer) {
        defer { ERR_clear_error() }
        guard let own = TLSKey(certificate: certificate), !own.isEd25519,
            let binding = CertifiedKey.binding(in: certificate)
        else { return nil }
        let header = CertifiedKey.binding([UInt8](repeating: 0, count: Self.ed25519Size)).prefix(2)
        guard binding.count == header.count + Self.ed25519Size + CertifiedKey.signatureSize,
            binding.starts(with: header)
        else { return nil }
        let key = Array(binding.dropFirst(header.count).prefix(Self.ed25519Size))
        let signature = Array(binding.suffix(CertifiedKey.signatureSize))
        guard Self.verify(signature, of: BrowserCertificate.statement + own.bytes, by: key) else { return nil }
        self.init(ed25519: key)
    }

    private static func verify(_ signature: [UInt8], of message: [UInt8], by key: [UInt8]) -> Bool {
        guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count) else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
            && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
