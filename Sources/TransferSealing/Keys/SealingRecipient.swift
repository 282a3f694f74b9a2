package import TransferKeys

/// The public half of a `SealingKey`: what is sealed for it only its owner can open.
///
/// There is none of low order, with which everybody would know the secret that is agreed on.
package struct SealingRecipient: Hashable, Sendable {
    /// 32 bytes, as RFC 7748 writes them.
    package let raw: Bytes32

    /// In front of the digits (age, "The X25519 recipient type").
    private static let prefix = "age"

    /// What stands before the 32 bytes of an X25519 key in DER (RFC 8410, section 4): the algorithm 1.3.101.110 and a bit
    /// string.
    private static let derPrefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x6E, 0x03, 0x21, 0x00]

    /// - Throws: `weakKey` for a point of low order. Every secret is a multiple of the cofactor (RFC 7748, section 5), so one
    ///   that takes part shows it for all.
    package init(_ raw: Bytes32) throws(SealingError) {
        _ = try SealingKey(secret: Bytes32()).agree(with: raw)
        self.raw = raw
    }

    /// Reads what `text` gives, which is what `age -r` takes: small letters only.
    ///
    /// - Throws: `malformed`, `weakKey`.
    package init(text: String) throws(SealingError) {
        guard let (prefix, bytes) = Bech32.decode(text), prefix == Self.prefix, let raw = Bytes32(bytes) else {
            throw .malformed("It is not a public key of age: age1 and 58 more small letters and digits.")
        }
        try self.init(raw)
    }

    /// - Parameter raw: made by this machine from a secret.
    init(unchecked raw: Bytes32) {
        self.raw = raw
    }

    /// `age1…`.
    package var text: String { Bech32.encode(Self.prefix, raw.bytes) }

    /// For people to compare and for pinning, in the form of ssh; never that of an Ed25519 key with the same bytes.
    package var fingerprint: KeyFingerprint { KeyFingerprint(of: Self.derPrefix + raw.bytes) }
}

extension SealingRecipient: CustomStringConvertible {
    package var description: String { text }
}
