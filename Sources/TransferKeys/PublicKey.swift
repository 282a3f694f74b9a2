internal import COpenSSL
import TransferModel

/// A public Ed25519 key (RFC 8032), which identifies a server or a client.
public struct PublicKey: Hashable, Sendable {
    /// The key in the encoding of RFC 8032.
    package let raw: Bytes32

    package init(_ raw: Bytes32) {
        self.raw = raw
    }

    /// - Returns: nil unless there are 32 bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard let raw = Bytes32(bytes) else { return nil }
        self.raw = raw
    }

    /// Size of a signature in bytes.
    package static let signatureSize = 64

    /// The key as 64 hexadecimal digits.
    public var hexadecimal: String { String(hexadecimal: raw.bytes) }

    /// The fingerprint, by which people compare keys; see `KeyFingerprint`.
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
    /// The text of `fingerprint`, for people.
    public var description: String { fingerprint }
}
