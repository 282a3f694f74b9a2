package import TransferKeys

/// The public half of a `SealingKey`: only its owner can open what is sealed for it.
///
/// Keys of low order are refused, because everyone would know the agreed secret.
package struct SealingRecipient: Hashable, Sendable {
    /// The key as 32 bytes in the encoding of RFC 7748.
    package let raw: Bytes32

    /// Prefix of a public key (age, "The X25519 recipient type").
    private static let prefix = "age"

    /// The DER bytes before an X25519 key (RFC 8410, section 4): the algorithm 1.3.101.110 and a bit string.
    private static let derPrefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x6E, 0x03, 0x21, 0x00]

    /// - Throws: `weakKey` for a point of low order. Every secret is a multiple of the cofactor (RFC 7748, section 5),
    ///   so a test with one secret is enough.
    package init(_ raw: Bytes32) throws(SealingError) {
        _ = try SealingKey(secret: Bytes32()).agree(with: raw)
        self.raw = raw
    }

    /// Reads the text of a public key, as for `age -r`: lower case only.
    ///
    /// - Throws: `malformed`, `weakKey`.
    package init(text: String) throws(SealingError) {
        guard let (prefix, bytes) = Bech32.decode(text), prefix == Self.prefix, let raw = Bytes32(bytes) else {
            throw .malformed("It is not a public key of age, which is age1 and 58 more small letters and digits.")
        }
        try self.init(raw)
    }

    /// - Parameter raw: computed by this process from a secret.
    init(unchecked raw: Bytes32) {
        self.raw = raw
    }

    /// The public key as text, `age1…`.
    package var text: String { Bech32.encode(Self.prefix, raw.bytes) }

    /// Fingerprint in ssh's form, for comparison and pinning; it differs from that of an Ed25519 key with the same
    /// bytes.
    package var fingerprint: KeyFingerprint { KeyFingerprint(of: Self.derPrefix + raw.bytes) }
}

extension SealingRecipient: CustomStringConvertible {
    package var description: String { text }
}
