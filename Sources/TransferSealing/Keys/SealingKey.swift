internal import COpenSSL
package import TransferKeys

/// An X25519 key pair (RFC 7748), which opens content sealed for its recipient.
///
/// The secret is in OpenSSL's memory, which is overwritten when it is freed.
///
/// `@unchecked Sendable`: `pair` never changes, and OpenSSL lets threads share a key that is only read
/// (openssl-threads(7)).
package final class SealingKey: @unchecked Sendable {
    /// The public half, for which others seal.
    package let recipient: SealingRecipient

    private let pair: OpaquePointer

    /// Prefix of a secret key (age, "The X25519 recipient type").
    static let prefix = "age-secret-key-"

    /// Makes a key with the kernel's generator.
    package convenience init() throws(SealingError) {
        try self.init(SecretBytes.random(Bytes32.count))
    }

    /// - Parameter secret: may be any 32 bytes.
    package convenience init(secret: Bytes32) throws(SealingError) {
        try self.init(SecretBytes(secret.bytes))
    }

    /// Reads the text of a secret key, as written by age-keygen(1): upper case only.
    ///
    /// - Throws: `malformed` for any other text.
    package convenience init(text: String) throws(SealingError) {
        guard let (prefix, bytes) = Bech32.decode(text), prefix == Self.prefix.uppercased(),
            bytes.count == Bytes32.count
        else {
            throw .malformed("It is not a secret key of age, which is AGE-SECRET-KEY-1 and 58 more letters and digits.")
        }
        try self.init(SecretBytes(bytes))
    }

    init(_ secret: SecretBytes) throws(SealingError) {
        let pair = secret.withUnsafeBytes { EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, $0.octets, $0.count) }
        self.pair = try OpenSSL.made(pair, "EVP_PKEY_new_raw_private_key")
        var share = Bytes32()
        var size = Bytes32.count
        let status = share.withUnsafeMutableBytes { [pair = self.pair] in
            EVP_PKEY_get_raw_public_key(pair, $0.octets, &size)
        }
        // A share computed from the base point is never of low order.
        recipient = SealingRecipient(unchecked: share)
        try OpenSSL.check(status, "EVP_PKEY_get_raw_public_key")
    }

    deinit {
        EVP_PKEY_free(pair)
    }

    /// `AGE-SECRET-KEY-1…`, to be stored and never displayed.
    package var text: String {
        get throws(SealingError) {
            let secret = try SecretBytes(count: Bytes32.count) { (memory) throws(SealingError) in
                var size = memory.count
                let status = EVP_PKEY_get_raw_private_key(pair, memory.octets, &size)
                try OpenSSL.check(status, "EVP_PKEY_get_raw_private_key")
            }
            return secret.withUnsafeBytes { Bech32.encode(Self.prefix, Array($0)) }.uppercased()
        }
    }

    /// The secret that only the two sides can compute (RFC 7748, section 6.1).
    ///
    /// - Parameter share: the public key of the other side.
    /// - Throws: `weakKey` if the secret would be zero.
    func agree(with share: Bytes32) throws(SealingError) -> SecretBytes {
        let other = share.withUnsafeBytes { EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, $0.octets, $0.count) }
        let peer = try OpenSSL.made(other, "EVP_PKEY_new_raw_public_key")
        defer { EVP_PKEY_free(peer) }
        let context = try OpenSSL.made(EVP_PKEY_CTX_new(pair, nil), "EVP_PKEY_CTX_new")
        defer { EVP_PKEY_CTX_free(context) }
        try OpenSSL.check(EVP_PKEY_derive_init(context), "EVP_PKEY_derive_init")
        try OpenSSL.check(EVP_PKEY_derive_set_peer(context, peer), "EVP_PKEY_derive_set_peer")
        let agreed = try SecretBytes(count: Bytes32.count) { (memory) throws(SealingError) in
            var size = memory.count
            // OpenSSL refuses a secret of zeros, and has no other reason to fail.
            guard EVP_PKEY_derive(context, memory.octets, &size) == 1, size == memory.count else {
                _ = OpenSSL.failure("EVP_PKEY_derive")
                throw .weakKey
            }
        }
        guard !agreed.isZero else { throw .weakKey }
        return agreed
    }
}
