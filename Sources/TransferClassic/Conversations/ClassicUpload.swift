package import TransferModel

/// An upload as a client of a classic framing declares it.
package struct ClassicUpload: Equatable, Sendable {
    /// The client's ID for the upload if the framing has IDs (1 to 2^53); otherwise the number of the upload on its
    /// connection, counted from 1.
    package let number: UInt64

    /// The name as the client sent it, unchecked: `ClassicName.told` checks it.
    package let name: [UInt8]?

    /// The kind that the client states; nil if it states none.
    package let kind: ContentKind?

    /// The size of the content in bytes; nil if it is not known in advance.
    package let size: UInt64?

    /// The recipient's name as the client sent it: UTF-8 of 1 to 255 bytes without NUL.
    package let recipient: String?

    /// The client's name: UTF-8 of 1 to 255 bytes without NUL.
    package let sender: String?

    package init(
        number: UInt64, name: [UInt8]? = nil, kind: ContentKind? = nil, size: UInt64? = nil, recipient: String? = nil,
        sender: String? = nil
    ) {
        (self.number, self.name, self.kind, self.size) = (number, name, kind, size)
        (self.recipient, self.sender) = (recipient, sender)
    }
}

/// The client's declaration at the end of an upload, which the receiver compares with the content.
package struct ClassicEnd: Equatable, Sendable {
    /// The size of the content in bytes; nil if the framing does not state it.
    package let size: UInt64?

    /// The plain digest of the bytes, regardless of their number: no classic framing has digests of blocks.
    package let digest: Digest?

    package init(size: UInt64? = nil, digest: Digest? = nil) {
        (self.size, self.digest) = (size, digest)
    }
}
