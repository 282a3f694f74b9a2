internal import TransferKeys

/// Everything that determines the bytes of one sealed file: the same state and content make the same file, so that an
/// interrupted upload can continue.
///
/// **It must never be used for a second content.** An observer of two ciphertexts with the same file key and nonce,
/// such as the server, learns how their contents differ, and can forge others. The type makes this difficult:
///
/// - The secrets cannot be chosen. A new state has new ones, and an old one comes only from its `encoded` form.
/// - A state belongs to one `SealingSource` and one set of recipients. Both reading it and making a `Sealer` require
///   the *present* source. If that has changed, they throw `otherSource`, and a new state must be made and everything
///   sent again.
/// - A `Sealer` seals exactly as many bytes as the source has declared.
///
/// It cannot detect content that changes without a change of size and context, or while it is read. The client that
/// reads the source compares it again after each read and, if it has changed, removes the state and sends no more.
///
/// The `encoded` form opens the file: it must be stored in a file that only its owner can read, until the upload is
/// acknowledged.
package struct SealingState: Sendable {
    /// The header of the sealed file.
    package let header: SealedHeader

    /// Sizes and positions in the sealed file.
    package let layout: SealedLayout

    let fileKey: FileKey
    let nonce: [UInt8]

    /// Digest of the source and the recipients.
    let binding: Bytes32

    /// Makes a state with new secrets.
    ///
    /// - Parameter recipients: 1 to `SealedHeader.mostRecipients`, in the order of the header.
    /// - Throws: `tooLarge`, and `malformed` without recipients.
    package init(sealing source: SealingSource, for recipients: [SealingRecipient]) throws(SealingError) {
        let fileKey = try FileKey.random()
        let nonce = try SecretBytes.random(SealedLayout.nonceSize).withUnsafeBytes { Array($0) }
        let header = try SealedHeader(fileKey, for: recipients)
        try self.init(header, fileKey, nonce, size: source.size, binding: source.binding(recipients))
    }

    /// Makes a state of existing secrets: for stored states, and for tests with known results.
    init(
        _ header: SealedHeader, _ fileKey: FileKey, _ nonce: [UInt8], size: UInt64, binding: Bytes32
    ) throws(SealingError) {
        (self.header, self.fileKey, self.nonce, self.binding) = (header, fileKey, nonce, binding)
        layout = try SealedLayout(contentSize: size, headerSize: header.bytes.count)
    }

    /// The file's tag, for its note.
    package var tag: SealedTag {
        get throws(SealingError) { try SealedTag(header, nonce: nonce) }
    }
}

extension SealingState: CustomStringConvertible, CustomReflectable {
    package var description: String { "SealingState(...)" }

    /// Omits the secrets, which `dump` and failed tests would print.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
