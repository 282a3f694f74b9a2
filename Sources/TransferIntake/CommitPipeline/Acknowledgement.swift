package import TransferModel
import TransferPorts

/// The promise that the content of an upload is verified and stored under the path that it names; durable, where it says so.
///
/// Nothing but `CommitPipeline` can make one: either of what was published, signed for and recorded, or of an earlier upload that
/// was found to promise still all that a new one would.
package struct Acknowledgement: Equatable, Sendable {
    package let id: UploadID

    /// `committed` or `alreadyStored`.
    package let code: ResultCode

    /// Where the content is in the server's directory. Of what is for somebody, where it would be.
    package let path: RelativePath

    package let kind: ContentKind

    /// Bytes of content.
    package let size: UInt64

    /// Computed from what was stored.
    package let digest: Digest

    /// Whether content and name were synced before this was made.
    package let isDurable: Bool

    /// What had the path before.
    package let replaced: Replacement

    /// The part of the trash that has what was replaced; nil where nothing was, where it is not kept, and where that is known no more.
    package let trash: TrashBatch?

    /// What an upload has taken the place of.
    package enum Replacement: Equatable, Sendable {
        /// The path was free, or the content was there already.
        case nothing
        /// A file of the same content that the disk had lost, or that nobody could say is on disk.
        case itself
        /// Something else, which its sender wanted to be replaced.
        case other
    }

    /// A receipt that comes with this acknowledgement alone. Those that are made together have one signature instead.
    package internal(set) var receipt: [UInt8]?

    /// - Parameter recorded: only `CommitPipeline` makes one.
    init(_ recorded: CommitPipeline.RecordedUpload) {
        let stored = recorded.stored
        (id, kind) = (recorded.intent.id, recorded.intent.kind)
        code = stored.isNew ? .committed : .alreadyStored
        (path, size, digest, isDurable) = (stored.path, stored.size, stored.digest, stored.isDurable)
        (replaced, trash) = (stored.replaced, stored.trash)
    }

    /// - Parameters:
    ///   - run: of the connection that the upload comes over now. In the run that stored it, it is a replay.
    ///   - kind: that its sender says now.
    init(again upload: CommitPipeline.StillStored, run: UInt64?, kind: ContentKind) {
        let entry = upload.entry
        id = entry.id
        code = entry.state == .committed && entry.run == run ? .committed : .alreadyStored
        (path, size, digest, isDurable) = (upload.path, entry.size, upload.digest, entry.isDurable)
        self.kind = kind
        replaced = code == .committed && entry.hasReplaced ? .other : .nothing
        trash = nil
    }

    /// - Parameter kind: that its sender says now.
    init(again mail: CommitPipeline.StillDelivered, kind: ContentKind) {
        (id, path, size, digest) = (mail.id, mail.path, mail.size, mail.digest)
        (code, isDurable, self.kind) = (.alreadyStored, mail.isDurable, kind)
        (replaced, trash) = (.nothing, nil)
    }
}

/// How an upload, or a part of one, ended.
package enum UploadOutcome: Equatable, Sendable {
    /// Its content is stored under a path.
    case acknowledged(Acknowledgement)
    /// A part is in its place, verified; it counts when its upload is complete.
    case staged(size: UInt64, Digest)
    /// More of an upload that grows is durable; it counts when the upload is complete.
    ///
    /// - Parameter offset: bytes that there are of it.
    case kept(offset: UInt64)
    /// The name is taken, and the sender asked to leave it.
    ///
    /// - Parameter size: bytes that came all the same.
    case skipped(size: UInt64, message: String)
    /// - Parameter size: bytes that came.
    case refused(Failure, size: UInt64)

    package var code: ResultCode {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.code
        case .staged, .kept: .staged
        case .skipped: .skipped
        case .refused(let error, _): error.code
        }
    }

    /// When a refused upload may be tried again; nil where the server has no opinion.
    package var retryAfter: Interval? {
        if case .refused(let error, _) = self { error.retryAfter } else { nil }
    }

    /// Bytes of content that the server took in.
    package var size: UInt64 {
        switch self {
        case .acknowledged(let acknowledgement): acknowledgement.size
        case .kept(let offset): offset
        case .staged(let size, _), .skipped(let size, _), .refused(_, let size): size
        }
    }

    /// Of the content that is stored.
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

    /// Where the content is; nothing unless it is stored.
    package var path: RelativePath? {
        if case .acknowledged(let acknowledgement) = self { acknowledgement.path } else { nil }
    }

    /// A sentence for people, about the server's directory; empty when there is nothing to say.
    package var message: String {
        switch self {
        case .acknowledged, .staged, .kept: ""
        case .skipped(_, let message): message
        case .refused(let error, _): error.message
        }
    }
}

/// A file that a publication has left under a path, and the client that the catalog says it belongs to. Uploads and copies both make
/// their records of it, so they give the file to the same owner.
struct PublishedFile {
    let path: RelativePath

    /// Nil if that could not be found out.
    let version: ContentVersion?

    let state: CatalogEntry.State

    /// Whether it is there because of this publication.
    let isNew: Bool

    /// What had the path before.
    let replaced: Acknowledgement.Replacement

    /// What of that is in the trash.
    let kept: KeptFile?

    /// - Parameter publication: what the outcome is of.
    /// - Returns: nil if nothing is stored.
    init?(_ outcome: PublicationOutcome, of publication: Publication, for caller: Caller) {
        switch outcome {
        case .skipped: return nil
        case .committed(let path, let version):
            kept = publication.content.kept
            (self.path, self.version, state, isNew) = (path, version, .committed, true)
            replaced = publication.content.hasReplaced ? .other : .nothing
        // Bringing content that another client has stored does not change its owner.
        case .restored(let path, let version), .healed(let path, let version):
            (self.path, self.version, isNew, replaced, kept) = (path, version, true, .itself, nil)
            state = caller.mayReplaceAll ? .committed : .alreadyStored
        case .alreadyStored(let path, let version):
            (self.path, self.version, state, isNew, replaced) = (path, version, .alreadyStored, false, .nothing)
            kept = nil
        }
    }

    /// What the catalog is to keep of it.
    ///
    /// - Parameters:
    ///   - kind: that the client says.
    ///   - isDurable: whether content and name are synced.
    ///   - begun: when the client began, in nanoseconds since 1970 (UTC); so is `moment`, at which it was published.
    ///   - run: the push that it is part of.
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
