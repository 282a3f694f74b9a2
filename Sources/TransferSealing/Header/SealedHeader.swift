internal import TransferKeys

/// What stands before the encrypted content: the file key once for each recipient, and a code over all of it (age, "Header").
///
/// Whoever reads one without a key, as a server does, learns how many recipients there are, and nothing else of them.
package struct SealedHeader: Equatable, Sendable {
    /// All of it, up to and with its last line feed.
    package let bytes: [UInt8]

    let stanzas: [HeaderStanza]

    private let code: Bytes32

    /// Bytes of the longest header that is written or read. It is kept in memory until it is whole, so it cannot be any length;
    /// 64 KiB is what age's own chunks take, and has room for 668 recipients of 98 bytes.
    package static let longest = 64 << 10

    /// Stanzas of any type in a header that is read: each takes memory of its own, and each of type X25519 some 50 µs for every
    /// key that is tried.
    package static let mostStanzas = 1024

    /// Recipients of a header that is written: 50 KB, which leaves room for other readers' tighter limits.
    package static let mostRecipients = 512

    static let version = Array("age-encryption.org/v1\n".utf8)
    static let end = Array("---".utf8)

    /// Writes one.
    ///
    /// - Parameters:
    ///   - fileKey: never used before.
    ///   - recipients: 1 to `mostRecipients`.
    init(_ fileKey: FileKey, for recipients: [SealingRecipient]) throws(SealingError) {
        try self.init(fileKey, for: recipients) { () throws(SealingError) in try SealingKey() }
    }

    /// - Parameter ephemeral: makes a key for one stanza; only tests give one.
    init(
        _ fileKey: FileKey, for recipients: [SealingRecipient], ephemeral: () throws(SealingError) -> SealingKey
    ) throws(SealingError) {
        guard !recipients.isEmpty else { throw .malformed("There is nobody to seal for.") }
        guard recipients.count <= Self.mostRecipients else {
            throw .tooLarge("There are \(recipients.count) to seal for; the limit is \(Self.mostRecipients).")
        }
        var stanzas: [HeaderStanza] = []
        for recipient in recipients {
            stanzas.append(try WrappedFileKey(fileKey, for: recipient, ephemeral: ephemeral()).stanza)
        }
        let text = Self.version + stanzas.flatMap { Array($0.text.utf8) } + Self.end
        let code = try fileKey.code(ofHeader: text)
        self.init(bytes: text + Array(" \(UnpaddedBase64.encode(code.bytes))\n".utf8), stanzas, code)
    }

    /// - Parameter bytes: as a `HeaderScanner` has read them.
    init(bytes: [UInt8], _ stanzas: [HeaderStanza], _ code: Bytes32) {
        (self.bytes, self.stanzas, self.code) = (bytes, stanzas, code)
    }

    /// Takes the file key out.
    ///
    /// - Parameter keys: of the reader; all are tried.
    /// - Throws: `notForYou`, `malformed`, `weakKey`, and `damaged` when the code is not that of this header.
    func fileKey(_ keys: [SealingKey]) throws(SealingError) -> FileKey {
        var wrapped: [WrappedFileKey] = []
        // All of them before any is tried: what is wrong with one is wrong for everybody.
        for stanza in stanzas {
            if let one = try WrappedFileKey(stanza) { wrapped.append(one) }
        }
        for one in wrapped {
            for key in keys {
                guard let fileKey = try one.unwrapped(key) else { continue }
                guard try isVouchedFor(by: fileKey) else { throw .damaged }
                return fileKey
            }
        }
        throw .notForYou
    }

    /// Whether the code at its end was made with that key.
    func isVouchedFor(by fileKey: FileKey) throws(SealingError) -> Bool {
        let last = bytes.dropLast(Self.codeLength)
        return HashedKeys.isEqual(try fileKey.code(ofHeader: last), code)
    }

    /// Characters behind `---`: a space, 32 bytes in base64, a line feed.
    private static let codeLength = 1 + 43 + 1
}
