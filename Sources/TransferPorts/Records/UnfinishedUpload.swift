package import TransferModel

/// An upload that has begun and has no acknowledgement so far: what its sender has declared, and whose it is.
package struct UnfinishedUpload: Equatable, Sendable {
    package var id: UploadID

    /// Where its content is to be stored.
    package var path: String

    /// Bytes of content; nothing as long as its source has no end.
    package var size: UInt64?

    package var kind: ContentKind

    /// What the content is digested with.
    package var function: DigestFunction

    package var conflict: ConflictPolicy

    /// The time of modification that the stored file is to have.
    package var modified: Timestamp?

    /// Permission bits that the stored file is to have, 0 to 0o777.
    package var permissions: UInt16?

    /// As in `CatalogEntry`.
    package var sender: String

    /// As in `CatalogEntry`.
    package var client: UInt64?

    /// UTC, in nanoseconds since 1970.
    package var begun: Int64

    /// The push that it was begun in, as the client named it.
    package var run: UInt64?

    package init(
        id: UploadID, path: String, size: UInt64? = nil, kind: ContentKind = .file, function: DigestFunction = .xxh128,
        conflict: ConflictPolicy = .keepBoth, modified: Timestamp? = nil, permissions: UInt16? = nil,
        sender: String = "", client: UInt64? = nil, begun: Int64, run: UInt64? = nil
    ) {
        (self.id, self.path, self.size, self.kind) = (id, path, size, kind)
        (self.function, self.conflict) = (function, conflict)
        (self.modified, self.permissions) = (modified, permissions)
        (self.sender, self.client, self.begun, self.run) = (sender, client, begun, run)
    }
}

/// Receipts that were signed together, as the catalog keeps them: what they have in common, and whose they are. With the
/// entries of these uploads each of them can be made again.
package struct KeptReceipts: Equatable, Sendable {
    package let signedBatch: SignedBatch

    /// In the order of their numbers.
    package let uploads: [UploadID]

    package init(_ signedBatch: SignedBatch, uploads: [UploadID]) {
        self.signedBatch = signedBatch
        self.uploads = uploads
    }

    /// Whether a receipt is among them.
    ///
    /// - Parameter number: that of the receipt.
    package func contain(_ number: UInt64) -> Bool {
        number >= signedBatch.number && number - signedBatch.number < UInt64(uploads.count)
    }
}
