internal import TransferKeys

/// All that decides the bytes of one sealed file: the same state and the same content give the same file, so an interrupted
/// upload goes on where it was.
///
/// **It must never meet a second content.** Whoever sees two ciphertexts made with the same file key and nonce, as the server
/// would, learns what their contents differ in, and can forge others. The type is made so that this takes effort:
///
/// - There is no way to choose the secrets. A new state has new ones, and an old one comes from its `encoded` form alone.
/// - A state is made for one `SealingSource` and one set of recipients, and gives itself to nobody else: neither when it is read
///   nor when a `Sealer` is made of it, both of which ask what the source is *now*. If it has changed, `otherSource` is thrown,
///   and what is left is to make a new state and to send from the start.
/// - A `Sealer` seals as many bytes as the source said, no more and no fewer.
///
/// What it cannot see is a content that changes without any change of its size and context, or while it is read. Whoever reads
/// the source compares it again behind each read, and gives up the state (`SealingState` is removed, nothing more is sent) when
/// it has changed meanwhile.
///
/// The `encoded` form opens the file: it belongs into a file that only its owner can read, until the upload is acknowledged.
package struct SealingState: Sendable {
    /// Bytes before the first chunk are made of it.
    package let header: SealedHeader

    /// Sizes and places.
    package let layout: SealedLayout

    let fileKey: FileKey
    let nonce: [UInt8]

    /// Of the source and the recipients.
    let binding: Bytes32

    /// A new one, which no file was sealed with so far.
    ///
    /// - Parameter recipients: 1 to `SealedHeader.mostRecipients`, in the order of the header.
    /// - Throws: `tooLarge`, `malformed` when there are none.
    package init(sealing source: SealingSource, for recipients: [SealingRecipient]) throws(SealingError) {
        let fileKey = try FileKey.random()
        let nonce = try SecretBytes.random(SealedLayout.nonceSize).withUnsafeBytes { Array($0) }
        let header = try SealedHeader(fileKey, for: recipients)
        try self.init(header, fileKey, nonce, size: source.size, binding: source.binding(recipients))
    }

    /// Of secrets that are there already: for what was kept, and for tests that know what has to come out.
    init(
        _ header: SealedHeader, _ fileKey: FileKey, _ nonce: [UInt8], size: UInt64, binding: Bytes32
    ) throws(SealingError) {
        (self.header, self.fileKey, self.nonce, self.binding) = (header, fileKey, nonce, binding)
        layout = try SealedLayout(contentSize: size, headerSize: header.bytes.count)
    }

    /// What the note of this file names it by.
    package var tag: SealedTag {
        get throws(SealingError) { try SealedTag(header, nonce: nonce) }
    }
}

extension SealingState: CustomStringConvertible, CustomReflectable {
    package var description: String { "SealingState(...)" }

    /// Not the secrets, which `dump` and failed tests would print.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
