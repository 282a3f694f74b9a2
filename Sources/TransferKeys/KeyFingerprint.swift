internal import COpenSSL

/// A fingerprint by which people compare public keys, in ssh's form: `SHA256:` and the digest of the key in Base64
/// without padding.
public struct KeyFingerprint: Hashable, Sendable {
    private static let prefix = "SHA256:"

    /// The SHA-256 digest of the key.
    package let digest: Bytes32

    package init(_ digest: Bytes32) {
        self.digest = digest
    }

    /// - Parameter key: the 32 bytes of an Ed25519 key; for any other key its SubjectPublicKeyInfo in DER.
    package init(of key: [UInt8]) {
        var digest = Bytes32()
        var size = UInt32(Bytes32.count)
        let status = digest.withUnsafeMutableBytes {
            EVP_Digest(key, key.count, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), &size, EVP_sha256(), nil)
        }
        // Trap: OpenSSL is linked in with its SHA-256, and a context that exists has no other reason to fail; every
        // input is valid.
        precondition(status == 1 && size == Bytes32.count, "OpenSSL has no SHA-256")
        self.digest = digest
    }

    package init(of key: PublicKey) {
        self.init(of: key.raw.bytes)
    }

    /// Reads the text of `description`.
    ///
    /// - Returns: nil for any other text.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(text.dropFirst(Self.prefix.utf8.count)),
            let digest = Bytes32(bytes)
        else { return nil }
        self.digest = digest
    }
}

extension KeyFingerprint: CustomStringConvertible {
    /// The text with its prefix, for people.
    public var description: String { Self.prefix + digits }

    /// The digits after the colon.
    package var digits: String {
        String(Substring(Base64.encode(digest.bytes).utf8.prefix { $0 != UInt8(ascii: "=") }))
    }
}
