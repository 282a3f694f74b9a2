package import TransferKeys
package import TransferModel

/// A certificate that binds a `SealingRecipient` to a person: the X25519 key, signed by the person's Ed25519 identity.
/// It passes through the server, which can neither make nor change one.
///
/// Every instance is verified. A server may send an older certificate than its latest: clients that keep the last
/// `fingerprint` notice it, and `issued` tells which is newer.
package struct SealingCertificate: Hashable, Sendable {
    /// The public key to seal for.
    package let recipient: SealingRecipient

    /// The identity that has signed.
    package let owner: PublicKey

    /// Time of the signature, by the owner's clock.
    package let issued: UTCTime

    private let signature: [UInt8]

    /// Version of the format, the only one so far: the first byte, which is signed.
    private static let version: UInt8 = 1

    /// Prefix of the signed bytes, unique to this purpose.
    private static let domain = Array("transfer sealing certificate v1\n".utf8)

    /// Bytes of a certificate: version, X25519 key, Ed25519 key, seconds since 1970, signature.
    package static let size = 1 + Bytes32.count + Bytes32.count + 8 + PublicKey.signatureSize

    /// Makes and signs a certificate.
    package init(_ recipient: SealingRecipient, by owner: KeyPair, at issued: UTCTime) {
        (self.recipient, self.owner, self.issued) = (recipient, owner.key, issued)
        signature = owner.sign(Self.message(recipient, owner.key, issued))
    }

    /// Reads an `encoded` certificate, and verifies it.
    ///
    /// - Parameter owner: the identity that must have signed it.
    /// - Throws: `malformed`, `unsupported`, `weakKey`, `wrongSigner`.
    package init(decoding bytes: [UInt8], of owner: PublicKey) throws(SealingError) {
        guard bytes.first == nil || bytes.first == Self.version else {
            throw .unsupported("A sealing certificate of a later version")
        }
        guard bytes.count == Self.size else {
            throw .malformed("A sealing certificate has \(bytes.count) bytes; it must have \(Self.size).")
        }
        var reader = RecordReader(bytes.dropFirst())
        let (raw, signer) = (try reader.bytes32(), PublicKey(try reader.bytes32()))
        let seconds = Int64(truncatingIfNeeded: try reader.number(UInt64.self))
        (recipient, self.owner, issued) = (try SealingRecipient(raw), signer, UTCTime(clamping: seconds))
        signature = Array(reader.remainder())
        guard issued.seconds == seconds else { throw .malformed("A sealing certificate has an invalid time.") }
        guard signer == owner, owner.verifies(signature, of: Self.message(recipient, owner, issued)) else {
            throw .wrongSigner
        }
    }

    /// The certificate as `size` bytes.
    package var encoded: [UInt8] { Self.fields(recipient, owner, issued) + signature }

    /// Fingerprint of the X25519 key, which is pinned and displayed.
    package var fingerprint: KeyFingerprint { recipient.fingerprint }

    private static func message(_ recipient: SealingRecipient, _ owner: PublicKey, _ issued: UTCTime) -> [UInt8] {
        domain + fields(recipient, owner, issued)
    }

    private static func fields(_ recipient: SealingRecipient, _ owner: PublicKey, _ issued: UTCTime) -> [UInt8] {
        var bytes = [version] + recipient.raw.bytes + owner.raw.bytes
        bytes.append(bigEndian: UInt64(bitPattern: issued.seconds))
        return bytes
    }
}
