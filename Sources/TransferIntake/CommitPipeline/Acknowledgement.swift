package import TransferModel
import TransferPorts

/// The promise that the content of an upload is verified and stored under the path that it names, and durable if
/// `isDurable`.
///
/// Only `CommitPipeline` can make one: from an upload that was published, signed and recorded, or from an earlier
/// upload, if everything that a new acknowledgement would promise still holds for it.
package struct Acknowledgement: Equatable, Sendable {
    package let id: UploadID

    /// The result: either `committed` or `alreadyStored`.
    package let code: ResultCode

    /// The path of the content in the server's directory. For mail: the path that its sender has named; nothing is
    /// stored there.
    package let path: RelativePath

    package let kind: ContentKind

    /// Size of the content in bytes.
    package let size: UInt64

    /// Digest of the content, computed from what was stored.
    package let digest: Digest

    /// Whether content and name were synced before this was made.
    package let isDurable: Bool

    /// What the upload has replaced at its path.
    package let replaced: Replacement

    /// The trash batch that has the replaced file; nil if no file was kept, or if the server no longer knows the
    /// part.
    package let trash: TrashBatch?

    /// What an upload has replaced.
    package enum Replacement: Equatable, Sendable {
        /// The path was free, or had the same content already.
        case nothing
        /// A file with the same content, because the disk had lost that content or the file may not have been durable.
        case itself
        /// Other content, which the client wanted to replace.
        case other
    }

    /// A receipt with a separate signature. Receipts that are made together are in `CommitPipeline.Ended.signedBatch`
    /// instead.
    package internal(set) var receipt: [UInt8]?

    /// - Parameter recorded: the proof that only `CommitPipeline` can make.
    init(_ recorded: CommitPipeline.RecordedUpload) {
        let stored = recorded.stored
        (id, kind) = (recorded.intent.id, recorded.intent.kind)
        code = stored.isNew ? .committed : .alreadyStored
        (path, size, digest, isDurable) = (stored.path, stored.size, stored.digest, stored.isDurable)
        (replaced, trash) = (stored.replaced, stored.trash)
    }

    /// - Parameters:
    ///   - run: the push of the connection that repeats the upload. If the same push has stored the upload, the result
    ///     is `committed` again.
    ///   - kind: the kind that the client declares now.
    init(again upload: CommitPipeline.StillStored, run: UInt64?, kind: ContentKind) {
        let entry = upload.entry
        id = entry.id
        code = entry.state == .committed && entry.run == run ? .committed : .alreadyStored
        (path, size, digest, isDurable) = (upload.path, entry.size, upload.digest, entry.isDurable)
        self.kind = kind
        replaced = code == .committed && entry.hasReplaced ? .other : .nothing
        trash = nil
    }

    /// - Parameter kind: the kind that the client declares now.
    init(again mail: CommitPipeline.StillDelivered, kind: ContentKind) {
        (id, path, size, digest) = (mail.id, mail.path, mail.size, mail.digest)
        (code, isDurable, self.kind) = (.alreadyStored, mail.isDurable, kind)
        (replaced, trash) = (.nothing, nil)
    }
}

/// How an upload or a part ended.
package enum UploadOutcome: Equatable, Sendable {
    /// The content is stored under a path.
    case acknowledged(Acknowledgement)
    /// A part is verified and in its place. It takes effect when its upload is complete.
    case staged(size: UInt64, Digest)
    /// More of an append upload is durable. It takes effect when the upload is complete.
    ///
    /// - Parameter offset: how many bytes of the upload the server has.
    case kept(offset: UInt64)
    /// The path is taken, and the conflict policy is to skip.
    ///
    /// - Parameter size: bytes that the client sent nevertheless.
    case skipped(size: UInt64, message: String)
    /// - Parameter size: bytes of content that arrived.
    case refused(Failure, size: UInt64)

    package var code: ResultCode {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.code
        case .staged, .kept: .staged
        case .skipped: .skipped
        case .refused(let error, _): error.code
        }
    }

    /// When a refused upload may be tried again; nil if the server does not say.
    package var retryAfter: Interval? {
        if case .refused(let error, _) = self { error.retryAfter } else { nil }
    }

    /// Bytes of content that the server received; for an acknowledged upload, the bytes that are stored.
    package var size: UInt64 {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.size
        case .kept(let offset): offset
        case .staged(let size, _), .skipped(let size, _), .refused(_, let size): size
        }
    }

    /// The digest of the stored content; nil if nothing is stored.
    package var digest: Digest? {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.digest
        case .staged(_, let digest): digest
        case .kept, .skipped, .refused: nil
        }
    }

    package var isDurable: Bool {
        if case .acknowledged(let acknowledgement) = self { acknowledgement.isDurable } else { false }
    }

    /// The path of the content; nil if nothing is stored.
    package var path: RelativePath? {
        if case .acknowledged(let acknowledgement) = self { acknowledgement.path } else { nil }
    }

    /// A sentence for people, with paths of the server's directory; empty if there is nothing to say.
    package var message: String {
        switch self {
        case .acknowledged, .staged, .kept: ""
        case .skipped(_, let message): message
        case .refused(let error, _): error.message
        }
    }
}

/// A file that a publication has left under a path, and its owner in the catalog. The records of uploads and of copies
/// are both made from it, so that both follow the same rule of ownership.
struct PublishedFile {
    let path: RelativePath

    /// Nil if the store could not read the version.
    let version: ContentVersion?

    let state: CatalogEntry.State

    /// Whether the content is there because of this publication.
    let isNew: Bool

    /// What the publication has replaced at the path.
    let replaced: Acknowledgement.Replacement

    /// The replaced file in the trash; nil if no file was kept.
    let kept: KeptFile?

    /// - Parameter publication: the publication that ended with `outcome`.
    /// - Returns: nil if nothing is stored.
    init?(_ outcome: PublicationOutcome, of publication: Publication, for caller: Caller) {
        switch outcome {
        case .skipped: return nil
        case .committed(let path, let version):
            kept = publication.content.kept
            (self.path, self.version, state, isNew) = (path, version, .committed, true)
            replaced = publication.content.hasReplaced ? .other : .nothing
        // Uploading content that another client owns does not change its owner.
        case .restored(let path, let version), .healed(let path, let version):
            (self.path, self.version, isNew, replaced, kept) = (path, version, true, .itself, nil)
            state = caller.mayReplaceAll ? .committed : .alreadyStored
        case .alreadyStored(let path, let version):
            (self.path, self.version, state, isNew, replaced) = (path, version, .alreadyStored, false, .nothing)
            kept = nil
        }
    }

    /// The file's record for the catalog.
    ///
    /// - Parameters:
    ///   - kind: the kind that the client declares.
    ///   - isDurable: whether content and name are synced.
    ///   - begun: when the client began; `moment` is when the file was published. Both are UTC, in nanoseconds since
    ///     1970.
    ///   - run: the push that the publication belongs to; nil if it belongs to none.
    func entry(
        of publication: Publication, _ kind: ContentKind, isDurable: Bool, by caller: Caller, begun: Int64,
        at moment: Int64, run: UInt64? = nil
    ) -> CatalogEntry {
        var entry = CatalogEntry(
            id: publication.id, state: state, path: path.string, kind: kind, size: publication.size,
            digest: publication.digest, isDurable: isDurable, sender: caller.sender, client: caller.id, begun: begun,
            committed: moment, run: run, version: version, hasReplaced: replaced == .other)
        entry.kept = kept
        return entry
    }
}

/// A complete upload whose content matches what its client declared, ready to be published.
struct VerifiedUpload {
    let upload: OpenUpload
    var publication: Publication

    /// The claim on the upload's id, which is made before the upload is published; nil if no other connection can
    /// complete an upload with this id.
    let claim: RecentResults.Claim?

    /// Room reserved in the client's quota for what the upload leaves beside its content; nil for a client without
    /// limits.
    var share: ClientShare?
}

/// An upload with its outcome.
package struct EndedUpload {
    package let upload: OpenUpload
    package let outcome: UploadOutcome

    package init(_ upload: OpenUpload, _ outcome: UploadOutcome) { (self.upload, self.outcome) = (upload, outcome) }
}
