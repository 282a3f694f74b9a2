package import TransferKeys
package import TransferModel

/// What ties a `SealingRecipient` to a person: the X25519 key, signed by the Ed25519 identity that the person is known by. It
/// goes through the server, which can neither make one nor change it.
///
/// There is none that is not verified. A server may give an older one than it has: who keeps the `fingerprint` of the last
/// one notices, and `issued` says which of two is newer.
package struct SealingCertificate: Hashable, Sendable {
    /// What is sealed for.
    package let recipient: SealingRecipient

    /// Who has signed.
    package let owner: PublicKey

    /// When, by the clock of the owner.
    package let issued: UTCTime

    private let signature: [UInt8]

    /// The only one so far. It is signed, and stands first.
    private static let version: UInt8 = 1

    /// In front of what is signed: nobody signs for another purpose what begins so.
    private static let domain = Array("transfer sealing certificate v1\n".utf8)

    /// Bytes of every one: version, X25519 key, Ed25519 key, seconds since 1970, signature.
    package static let size = 1 + Bytes32.count + Bytes32.count + 8 + PublicKey.signatureSize

    /// Signs.
    package init(_ recipient: SealingRecipient, by owner: KeyPair, at issued: UTCTime) {
        (self.recipient, self.owner, self.issued) = (recipient, owner.key, issued)
        signature = owner.sign(Self.message(recipient, owner.key, issued))
    }

    /// Reads what `encoded` gives, and verifies it.
    ///
    /// - Parameter owner: the identity of whom it should be.
    /// - Throws: `malformed`, `unsupported`, `weakKey`, `wrongSigner`.
    package init(decoding bytes: [UInt8], of owner: PublicKey) throws(SealingError) {
        guard bytes.first == nil || bytes.first == Self.version else {
            throw .unsupported("A sealing certificate of a later version")
        }
        guard bytes.count == Self.size else {
            throw .malformed("A sealing certificate has \(bytes.count) bytes and not \(Self.size).")
        }
        var reader = RecordReader(bytes.dropFirst())
        let (raw, signer) = (try reader.bytes32(), PublicKey(try reader.bytes32()))
        let seconds = Int64(truncatingIfNeeded: try reader.number(UInt64.self))
        (recipient, self.owner, issued) = (try SealingRecipient(raw), signer, UTCTime(clamping: seconds))
        signature = Array(reader.remainder())
        guard issued.seconds == seconds else { throw .malformed("A sealing certificate has a time that is none.") }
        guard signer == owner, owner.verifies(signature, of: Self.message(recipient, owner, issued)) else {
            throw .wrongSigner
        }
    }

    /// `size` bytes.
    package var encoded: [UInt8] { Self.fields(recipient, owner, issued) + signature }

    /// What is pinned and shown: that of the X25519 key.
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
