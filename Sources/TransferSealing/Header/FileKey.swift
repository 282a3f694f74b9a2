internal import TransferKeys

/// The secret key of one sealed file, which its header contains once for each recipient.
struct FileKey: Sendable {
    /// Bytes of the key: 128 bits (age, "File key").
    static let size = 16

    let secret: SecretBytes

    /// Makes a key with the kernel's generator. Never used for a second file.
    static func random() throws(SealingError) -> FileKey { FileKey(secret: try SecretBytes.random(size)) }

    /// - Parameter secret: must have `size` bytes.
    init(secret: SecretBytes) {
        self.secret = secret
    }

    /// The code that authenticates a header (age, "Header MAC").
    ///
    /// - Parameter text: the header up to `---`, inclusive.
    func code(ofHeader text: some Collection<UInt8>) throws(SealingError) -> Bytes32 {
        let key = try HashedKeys.derive(from: secret, salt: [], info: "header")
        return try HashedKeys.code(of: text, under: key)
    }

    /// The key of the chunks (age, "Payload").
    ///
    /// - Parameter nonce: 16 bytes from the file.
    func payloadKey(_ nonce: [UInt8]) throws(SealingError) -> SecretBytes {
        try HashedKeys.derive(from: secret, salt: nonce, info: "payload")
    }
}

extension FileKey: CustomStringConvertible, CustomReflectable {
    var description: String { "FileKey(...)" }

    /// Omits the secret, which `dump` and failed tests would print.
    var customMirror: Mirror { Mirror(self, children: []) }
}
