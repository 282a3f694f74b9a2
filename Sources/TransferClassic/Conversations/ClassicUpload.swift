package import TransferModel

/// An upload as a client of a classic framing declares it.
package struct ClassicUpload: Equatable, Sendable {
    /// The client's own id for it where the framing has one (1 to 2^53); otherwise 1 for the first of the connection, and
    /// so on.
    package let number: UInt64

    /// The name as it was told, which can be anything: `ClassicName.told` checks it.
    package let name: [UInt8]?

    /// What the client says it is; nothing where it doesn't.
    package let kind: ContentKind?

    /// Bytes of content, where that is known before.
    package let size: UInt64?

    /// Whom it is for, as the client calls them: UTF-8 of 1 to 255 bytes without NUL.
    package let recipient: String?

    /// What the client calls itself: the same.
    package let sender: String?

    package init(
        number: UInt64, name: [UInt8]? = nil, kind: ContentKind? = nil, size: UInt64? = nil, recipient: String? = nil,
        sender: String? = nil
    ) {
        (self.number, self.name, self.kind, self.size) = (number, name, kind, size)
        (self.recipient, self.sender) = (recipient, sender)
    }
}

/// What a client declares at the end of an upload; whoever has the content compares.
package struct ClassicEnd: Equatable, Sendable {
    /// Bytes of content.
    package let size: UInt64?

    /// Of the bytes themselves, also where there are many: no classic framing has digests of blocks.
    package let digest: Digest?

    package init(size: UInt64? = nil, digest: Digest? = nil) {
        (self.size, self.digest) = (size, digest)
    }
}
