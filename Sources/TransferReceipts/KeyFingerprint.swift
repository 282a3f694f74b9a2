/// What people compare a public key by, in the form that ssh uses: `SHA256:` and the digest of the key in base64, without
/// padding.
public struct KeyFingerprint: Hashable, Sendable, CustomStringConvertible {
    private static let prefix = "SHA256:"

    /// The text for people. Kept as that and not as `Bytes32`: the tasks' stacks of Swift 6.3 mix up what has an alignment
    /// of 32 bytes.
    public let description: String

    /// - Parameter key: of an Ed25519 key the 32 bytes, of any other the SubjectPublicKeyInfo in DER.
    package init(of key: [UInt8]) {
        self.init(digest: TreeHasher().plain(key).bytes)
    }

    /// Reads what `description` writes.
    ///
    /// - Returns: nothing for anything else.
    public init?(_ text: some StringProtocol) {
        guard text.hasPrefix(Self.prefix), let digest = Base64.decode(text.dropFirst(Self.prefix.utf8.count)),
            digest.count == Bytes32.count
        else { return nil }
        self.init(digest: digest)
    }

    private init(digest: [UInt8]) {
        let digits = Base64.encode(digest)
        description = Self.prefix + String(decoding: digits.utf8.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }
}
