internal import TransferKeys

/// The file key in a stanza of type X25519: encrypted with a key on which only the sender and the recipient can agree
/// (age, "X25519 recipient stanza").
struct WrappedFileKey {
    static let type = "X25519"

    private static let info = "age-encryption.org/v1/X25519"
    private static let size = FileKey.size + ChunkCipher.tagSize

    /// The public half of a key that is used only for this stanza.
    private let share: Bytes32
    private let body: [UInt8]

    /// - Parameter ephemeral: new for each recipient and file; only tests pass one.
    init(
        _ fileKey: FileKey, for recipient: SealingRecipient, ephemeral: SealingKey
    ) throws(SealingError) {
        share = ephemeral.recipient.raw
        let agreed = try ephemeral.agree(with: recipient.raw)
        let cipher = try ChunkCipher(.sealing, key: Self.key(agreed, share, recipient))
        let sealed = try SecretBytes(count: Self.size) { (body) throws(SealingError) in
            try fileKey.secret.withUnsafeBytes { (secret) throws(SealingError) in
                try cipher.seal(secret, .zero, into: body)
            }
        }
        body = sealed.withUnsafeBytes { Array($0) }
    }

    /// - Returns: nil for a stanza of another type, which must be ignored.
    /// - Throws: `malformed` for an invalid stanza of this type, which no header may contain.
    init?(_ stanza: HeaderStanza) throws(SealingError) {
        guard stanza.arguments.first == Self.type else { return nil }
        guard stanza.arguments.count == 2,
            let share = UnpaddedBase64.decode(stanza.arguments[1].utf8).flatMap({ Bytes32($0) })
        else { throw .malformed("A recipient in the header has no key of 32 bytes.") }
        // Longer file keys could be made to open with many keys (age: "partitioning oracle attacks").
        guard stanza.body.count == Self.size else {
            throw .malformed("A file key in the header is not one of 16 bytes.")
        }
        (self.share, body) = (share, stanza.body)
    }

    var stanza: HeaderStanza {
        HeaderStanza(arguments: [Self.type, UnpaddedBase64.encode(share.bytes)], body: body)
    }

    /// - Returns: nil if the file key is wrapped for other recipients.
    /// - Throws: `weakKey` for a share of low order.
    func unwrapped(_ key: SealingKey) throws(SealingError) -> FileKey? {
        let agreed = try key.agree(with: share)
        let cipher = try ChunkCipher(.opening, key: Self.key(agreed, share, key.recipient))
        var isOpen = false
        let secret = try SecretBytes(count: FileKey.size) { (secret) throws(SealingError) in
            isOpen = try body.span.bytes.withUnsafeBytes { (body) throws(SealingError) in
                try cipher.open(body, .zero, into: secret)
            }
        }
        return isOpen ? FileKey(secret: secret) : nil
    }

    private static func key(
        _ agreed: SecretBytes, _ share: Bytes32, _ recipient: SealingRecipient
    ) throws(SealingError) -> SecretBytes {
        try HashedKeys.derive(from: agreed, salt: share.bytes + recipient.raw.bytes, info: info)
    }
}
