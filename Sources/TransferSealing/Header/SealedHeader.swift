internal import TransferKeys

/// The header before the encrypted content: the file key, wrapped for each recipient, and a code over all of it (age,
/// "Header").
///
/// A reader without a key, such as a server, learns only the number of recipients.
package struct SealedHeader: Equatable, Sendable {
    /// The whole header, including its last line feed.
    package let bytes: [UInt8]

    let stanzas: [HeaderStanza]

    private let code: Bytes32

    /// Most bytes of a header. It is kept in memory until it is complete; 64 KiB is the size of age's chunks, enough
    /// for 668 recipients of 98 bytes.
    package static let longest = 64 << 10

    /// Most stanzas of any type in a header that is read: each needs memory, and each of type X25519 some 50 µs for
    /// every key that is tried.
    package static let mostStanzas = 1024

    /// Most recipients of a header that is written: 50 KB, which respects tighter limits of other readers.
    package static let mostRecipients = 512

    static let version = Array("age-encryption.org/v1\n".utf8)
    static let end = Array("---".utf8)

    /// Writes a header for a new file key.
    ///
    /// - Parameters:
    ///   - fileKey: must not have been used before.
    ///   - recipients: 1 to `mostRecipients`.
    init(_ fileKey: FileKey, for recipients: [SealingRecipient]) throws(SealingError) {
        try self.init(fileKey, for: recipients) { () throws(SealingError) in try SealingKey() }
    }

    /// - Parameter ephemeral: makes the key of one stanza; only tests pass one.
    init(
        _ fileKey: FileKey, for recipients: [SealingRecipient], ephemeral: () throws(SealingError) -> SealingKey
    ) throws(SealingError) {
        guard !recipients.isEmpty else { throw .malformed("There is no recipient to seal for.") }
        guard recipients.count <= Self.mostRecipients else {
            throw .tooLarge(
                "There are \(recipients.count) recipients to seal for; the limit is \(Self.mostRecipients).")
        }
        var stanzas: [HeaderStanza] = []
        for recipient in recipients {
            stanzas.append(try WrappedFileKey(fileKey, for: recipient, ephemeral: ephemeral()).stanza)
        }
        let text = Self.version + stanzas.flatMap { Array($0.text.utf8) } + Self.end
        let code = try fileKey.code(ofHeader: text)
        self.init(bytes: text + Array(" \(UnpaddedBase64.encode(code.bytes))\n".utf8), stanzas, code)
    }

    /// - Parameter bytes: the header, as read by a `HeaderScanner`.
    init(bytes: [UInt8], _ stanzas: [HeaderStanza], _ code: Bytes32) {
        (self.bytes, self.stanzas, self.code) = (bytes, stanzas, code)
    }

    /// Unwraps the file key.
    ///
    /// - Parameter keys: keys of the reader; all are tried.
    /// - Throws: `notForYou`, `malformed`, `weakKey`, and `damaged` if the code does not match the header.
    func fileKey(_ keys: [SealingKey]) throws(SealingError) -> FileKey {
        var wrapped: [WrappedFileKey] = []
        // All stanzas are parsed before any is tried, so that a malformed one is refused for every reader.
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

    /// Whether the code at the end was made with this key.
    func isVouchedFor(by fileKey: FileKey) throws(SealingError) -> Bool {
        let last = bytes.dropLast(Self.codeLength)
        return HashedKeys.isEqual(try fileKey.code(ofHeader: last), code)
    }

    /// Characters after `---`: a space, 32 bytes in Base64, a line feed.
    private static let codeLength = 1 + 43 + 1
}
