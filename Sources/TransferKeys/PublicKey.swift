internal import COpenSSL
import TransferModel

/// A public Ed25519 key (RFC 8032): what a server or a client is known by.
public struct PublicKey: Hashable, Sendable {
    /// As RFC 8032 writes it.
    package let raw: Bytes32

    package init(_ raw: Bytes32) {
        self.raw = raw
    }

    /// - Returns: nothing unless there are 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let raw = Bytes32(bytes) else { return nil }
        self.raw = raw
    }

    /// Bytes of a signature.
    package static let signatureSize = 64

    /// 64 hexadecimal digits.
    public var hexadecimal: String { String(hexadecimal: raw.bytes) }

    /// For people to compare; see `KeyFingerprint`.
    public var fingerprint: String { KeyFingerprint(of: self).description }

    /// - Returns: whether the key's owner signed the message.
    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        let key = raw.withUnsafeBytes {
            EVP_PKEY_new_raw_public_key(
                EVP_PKEY_ED25519, nil, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), $0.count)
        }
        guard let key else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}

extension PublicKey: CustomStringConvertible {
    /// The fingerprint.
    public var description: String { fingerprint }
}
