package import TransferModel

/// What the catalog knows of an upload that was acknowledged.
package struct CatalogEntry: Equatable, Sendable {
    /// What the upload has come to. The numbers are stored.
    package enum State: Int64, CaseIterable, Sendable {
        /// Stored by this upload.
        case committed = 1
        /// Its content was there before it came.
        case alreadyStored = 2
    }

    package var id: UploadID
    package var state: State

    /// Where its content is.
    package var path: String
    package var kind: ContentKind

    /// Bytes of content.
    package var size: UInt64

    /// Nothing as long as nobody has computed it.
    package var digest: Digest?

    /// Whether it was acknowledged as durable.
    package var isDurable: Bool

    /// What the server calls the client: its name in the lists, or its address. Others may have the same.
    package var sender: String

    /// Tells the client from all others, whatever it is called; nothing for one that cannot be told from others, and in
    /// what older servers have written.
    package var client: UInt64?

    /// UTC, in nanoseconds since 1970.
    package var begun: Int64

    /// When it was stored; UTC, in nanoseconds since 1970.
    package var committed: Int64

    /// The push that it came in, as the client named it.
    package var run: UInt64?

    /// The stored file's when it was acknowledged.
    package var version: ContentVersion?

    /// The number of the receipt that its acknowledgement came with, if it did.
    package var receipt: UInt64?

    /// Whether it took the place of other content.
    package var hasReplaced: Bool

    /// What of that is in the trash, until what is known of it is known there: then the entry has it no more.
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
    /// A stored file that the catalog knew nothing of, to refill a catalog that was lost. It gets an id of its own, which
    /// no client has.
    ///
    /// - Parameters:
    ///   - digest: as computed from what is there, if it was.
    ///   - moment: when it was found; UTC, in nanoseconds since 1970.
    package init(found path: RelativePath, digest: Digest?, version: ContentVersion, at moment: Int64) {
        self.init(
            id: .random(), state: .committed, path: path.string, size: version.size, digest: digest, begun: moment,
            committed: moment, version: version)
    }
}

/// How many uploads there are in one state, and how large they are together.
package struct CatalogTotals: Equatable, Sendable {
    package var uploads = 0

    /// Of their content; uploads of the same file count it each.
    package var bytes: UInt64 = 0

    package init(uploads: Int = 0, bytes: UInt64 = 0) {
        self.uploads = uploads
        self.bytes = bytes
    }
}
