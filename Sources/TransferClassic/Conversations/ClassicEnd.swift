package import TransferModel

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
