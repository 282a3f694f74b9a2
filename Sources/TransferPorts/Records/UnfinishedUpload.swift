package import TransferModel

/// An upload that has begun and has no acknowledgement yet: what its client has declared, and which client that is.
package struct UnfinishedUpload: Equatable, Sendable {
    package var id: UploadID

    /// The path where its content will be stored.
    package var path: String

    /// Bytes of content; nil while the source has no known end.
    package var size: UInt64?

    package var kind: ContentKind

    /// The function that digests the content.
    package var function: DigestFunction

    package var conflict: ConflictPolicy

    /// The time of modification for the stored file.
    package var modified: Timestamp?

    /// Permission bits for the stored file, 0 to 0o777.
    package var permissions: UInt16?

    /// The same as in `CatalogEntry`.
    package var sender: String

    /// The same as in `CatalogEntry`.
    package var client: UInt64?

    /// When it began: UTC, in nanoseconds since 1970.
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

/// Receipts that share one signature, as the catalog keeps them: the signed batch, and the ids of the uploads. With the
/// entries of these uploads, each receipt can be made again.
package struct KeptReceipts: Equatable, Sendable {
    package let signedBatch: SignedBatch

    /// Ordered by the numbers of their receipts.
    package let uploads: [UploadID]

    package init(_ signedBatch: SignedBatch, uploads: [UploadID]) {
        self.signedBatch = signedBatch
        self.uploads = uploads
    }

    /// Whether a receipt is among these receipts.
    ///
    /// - Parameter number: the number of the receipt.
    package func contain(_ number: UInt64) -> Bool {
        number >= signedBatch.number && number - signedBatch.number < UInt64(uploads.count)
    }
}
