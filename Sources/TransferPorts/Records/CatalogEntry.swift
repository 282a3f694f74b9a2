package import TransferModel

/// An acknowledged upload in the catalog.
package struct CatalogEntry: Equatable, Sendable {
    /// How the upload ended. The raw values are stored.
    package enum State: Int64, CaseIterable, Sendable {
        /// This upload has stored the content.
        case committed = 1
        /// The path already had the content.
        case alreadyStored = 2
    }

    package var id: UploadID
    package var state: State

    /// The path of the stored content.
    package var path: String
    package var kind: ContentKind

    /// Bytes that the content has.
    package var size: UInt64

    /// Nil until it is computed.
    package var digest: Digest?

    /// Whether it was acknowledged as durable.
    package var isDurable: Bool

    /// The server's name for the client: its name in the lists, or its address. Several clients can have the same.
    package var sender: String

    /// Identifies the client, whatever its name is; nil for a client without a key or token, and in entries of older
    /// servers.
    package var client: UInt64?

    /// When the upload began: UTC, in nanoseconds since 1970.
    package var begun: Int64

    /// When the content was stored: UTC, in nanoseconds since 1970.
    package var committed: Int64

    /// The push that it belonged to, as the client named it.
    package var run: UInt64?

    /// The version of the stored file when the upload was acknowledged.
    package var version: ContentVersion?

    /// The number of the receipt that came with the acknowledgement; nil without a receipt.
    package var receipt: UInt64?

    /// Whether it has replaced other content.
    package var hasReplaced: Bool

    /// The replaced file in the trash; nil after the records of that file have been moved there.
    package var kept: KeptFile?

    package init(
        id: UploadID, state: State, path: String, kind: ContentKind = .file, size: UInt64, digest: Digest? = nil,
        isDurable: Bool = false, sender: String = "", client: UInt64? = nil, begun: Int64, committed: Int64,
        run: UInt64? = nil, version: ContentVersion? = nil, receipt: UInt64? = nil, hasReplaced: Bool = false
    ) {
        self.id = id
        self.state = state
        self.path = path
        self.kind = kind
        self.size = size
        self.digest = digest
        self.isDurable = isDurable
        self.sender = sender
        self.client = client
        self.begun = begun
        self.committed = committed
        self.run = run
        self.version = version
        self.receipt = receipt
        self.hasReplaced = hasReplaced
    }
}

extension CatalogEntry {
    /// The entry of a stored file that the catalog did not have, to fill a new catalog. Its id is random, so no client
    /// has it.
    ///
    /// - Parameters:
    ///   - digest: computed from the content; nil if it was not read.
    ///   - moment: when the file was found; UTC, in nanoseconds since 1970.
    package init(found path: RelativePath, digest: Digest?, version: ContentVersion, at moment: Int64) {
        self.init(
            id: .random(), state: .committed, path: path.string, size: version.size, digest: digest, begun: moment,
            committed: moment, version: version)
    }
}

/// The number of uploads in one state, and their total size.
package struct CatalogTotals: Equatable, Sendable {
    package var uploads = 0

    /// Bytes of their content; a file counts once for each upload.
    package var bytes: UInt64 = 0

    package init(uploads: Int = 0, bytes: UInt64 = 0) {
        self.uploads = uploads
        self.bytes = bytes
    }
}
