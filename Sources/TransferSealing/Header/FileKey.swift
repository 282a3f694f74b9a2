internal import TransferKeys

/// The secret that one sealed file is encrypted with, and that its header has once for each recipient.
struct FileKey: Sendable {
    /// age, "File key": 128 bits.
    static let size = 16

    let secret: SecretBytes

    /// A new one, from the kernel's generator. Never used for a second file.
    static func random() throws(SealingError) -> FileKey { FileKey(secret: try SecretBytes.random(size)) }

    /// - Parameter secret: `size` bytes.
    init(secret: SecretBytes) {
        self.secret = secret
    }

    /// What vouches for a header (age, "Header MAC").
    ///
    /// - Parameter text: the header as far as behind `---`.
    func code(ofHeader text: some Collection<UInt8>) throws(SealingError) -> Bytes32 {
        let key = try HashedKeys.derive(from: secret, salt: [], info: "header")
        return try HashedKeys.code(of: text, under: key)
    }

    /// What the chunks are encrypted with (age, "Payload").
    ///
    /// - Parameter nonce: 16 bytes.
    func payloadKey(_ nonce: [UInt8]) throws(SealingError) -> SecretBytes {
        try HashedKeys.derive(from: secret, salt: nonce, info: "payload")
    }
}

extension FileKey: CustomStringConvertible, CustomReflectable {
    var description: String { "FileKey(...)" }

    /// Not the secret, which `dump` and failed tests would print.
    var customMirror: Mirror { Mirror(self, children: []) }
}
