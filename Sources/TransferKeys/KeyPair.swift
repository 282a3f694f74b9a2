internal import COpenSSL

/// An Ed25519 key pair, with which a server signs receipts and a client authenticates.
///
/// `@unchecked Sendable`: `pair` never changes, and OpenSSL lets threads share a key that is only read
/// (openssl-threads(7)).
package final class KeyPair: @unchecked Sendable {
    /// The public key of the pair.
    package let key: PublicKey

    private let pair: OpaquePointer

    /// Makes a key pair with OpenSSL's secure generator.
    package convenience init() {
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_ED25519, nil) else { preconditionFailure("out of memory") }
        defer { EVP_PKEY_CTX_free(context) }
        var pair: OpaquePointer?
        let status = EVP_PKEY_keygen_init(context) == 1 ? EVP_PKEY_keygen(context, &pair) : 0
        // Trap: the kernel provides random bytes for every running process (getrandom(2)); only commands and starting
        // servers call this.
        guard status == 1, let pair else { preconditionFailure("OpenSSL makes no Ed25519 keys") }
        self.init(owning: pair)
    }

    /// - Parameter secret: the 32-byte seed (RFC 8032, section 5.1.5).
    package convenience init(secret: Bytes32) {
        let pair = secret.withUnsafeBytes {
            EVP_PKEY_new_raw_private_key(
                EVP_PKEY_ED25519, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        // Trap: RFC 8032 accepts any 32 bytes as a seed; only memory could be missing.
        guard let pair else { preconditionFailure("any 32 bytes are a key") }
        self.init(owning: pair)
    }

    private init(owning pair: OpaquePointer) {
        self.pair = pair
        key = PublicKey(Self.raw { EVP_PKEY_get_raw_public_key(pair, $0, &$1) })
    }

    deinit {
        EVP_PKEY_free(pair)
    }

    /// The seed, which must be kept secret.
    package var secret: Bytes32 { Self.raw { EVP_PKEY_get_raw_private_key(pair, $0, &$1) } }

    /// - Returns: a signature of 64 bytes.
    package func sign(_ message: [UInt8]) -> [UInt8] {
        // Trap: Swift itself ends the process when memory runs out, so nothing is gained by an error here.
        guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
        defer { EVP_MD_CTX_free(context) }
        return [UInt8](unsafeUninitializedCapacity: PublicKey.signatureSize) { buffer, count in
            count = buffer.count
            let status =
                EVP_DigestSignInit(context, nil, nil, nil, pair) == 1
                ? EVP_DigestSign(context, buffer.baseAddress, &count, message, message.count) : 0
            // Trap: a key that exists signs any message (RFC 8032, section 5.1.6); only memory could be missing.
            precondition(status == 1 && count == PublicKey.signatureSize, "Ed25519 failed")
        }
    }

    private static func raw(_ body: (UnsafeMutablePointer<UInt8>?, inout Int) -> Int32) -> Bytes32 {
        var bytes = Bytes32()
        var size = Bytes32.count
        let status = bytes.withUnsafeMutableBytes {
            body($0.baseAddress?.assumingMemoryBound(to: UInt8.self), &size)
        }
        // Trap: one of the two initializers above has made the key.
        precondition(status == 1 && size == Bytes32.count, "an Ed25519 key has 32 bytes")
        return bytes
    }
}
