package import TransferModel
import TransferSystem

/// Who sent an upload.
package struct Sender: Sendable {
    /// The number of the connection; they grow.
    package let connection: Int

    /// Whether nobody is there any more. May be called on any thread.
    package let isGone: @Sendable () -> Bool

    package init(connection: Int, isGone: @escaping @Sendable () -> Bool) {
        self.connection = connection
        self.isGone = isGone
    }
}

/// A command of a client, which replaces nothing that it has stored itself.
package struct StoringCommand: Sendable, Equatable {
    /// Random, and the same on all connections of the command.
    package let id: UInt64

    /// Whether it may replace a file under the path that it has stored that under: its client has lost the answer, and the source
    /// has changed since.
    package let mayRepeat: Bool

    package init(id: UInt64, mayRepeat: Bool = false) { (self.id, self.mayRepeat) = (id, mayRepeat) }
}

/// An upload whose size and digest match what its client declared: ready to get its name.
package struct Publication {
    /// The place that it came to, of the store that is to publish it.
    package var content: any StagedContent
    package var id: UploadID
    package var path: RelativePath
    package var size: UInt64

    /// Of the bytes that were written.
    package var digest: Digest
    package var conflict: ConflictPolicy
    package var modified: Timestamp?
    package var permissions: UInt16?

    /// Whether the permissions are taken as they are, whatever the umask says.
    package var keepsPermissions = false

    /// Owner and extended attributes that it is to have; nothing for those of any new file.
    package var attributes: ExtraAttributes?

    /// What it may take the place of, where it replaces anything; nothing for whatever is there.
    package var compared: ComparedFile?

    /// The same as clients know it, `FileVersion.none` for nothing: compared when the publication gets its path.
    package var replaceable: FileVersion?

    /// What has to have the path when the publication gets it; nil for anything. With one, an upload only takes a free name or replaces
    /// a file: `conflict` is `overwrite` or `fail`.
    package var condition: PublicationCondition?

    /// Whether the sender may learn that a file has the content that the publication brings; nil where it may learn it of all. Any other
    /// file is taken for other content.
    package var mayCompare: (@Sendable (RelativePath, ContentVersion) -> Bool)?

    /// Where what it takes the place of goes; nil where that is gone for good.
    package var trash: TrashPart?

    /// Where that is known.
    package var sender: Sender?

    /// The command that it is part of, where that is known.
    package var command: StoringCommand?

    package init(
        staged content: any StagedContent, id: UploadID, path: RelativePath, size: UInt64, digest: Digest,
        conflict: ConflictPolicy = .keepBoth, modified: Timestamp? = nil, permissions: UInt16? = nil
    ) {
        self.content = content
        self.id = id
        self.path = path
        self.size = size
        self.digest = digest
        self.conflict = conflict
        self.modified = modified
        self.permissions = permissions
    }

    /// - Parameter found: what has the path; where nothing has, nothing can be lost.
    /// - Throws: `pathConflict` when it is another version than the client has seen.
    package func checkVersion(_ found: ContentVersion?) throws(Failure) {
        guard let replaceable, let found, found.told != replaceable else { return }
        throw .isNotSeen(path)
    }
}

/// What has to have a path at the moment a publication gets it. A condition that is compared earlier may hold no more by then.
package struct PublicationCondition: Sendable {
    private let holds: @Sendable (StoredAttributes?) -> Bool

    /// - Parameter holds: called on any thread, several times where others change the path meanwhile; it gets nil if nothing has the
    ///   path. It never holds for links and special files.
    package init(_ holds: @escaping @Sendable (StoredAttributes?) -> Bool) { self.holds = holds }

    /// Nothing may have the path.
    package static let onlyNew = PublicationCondition { $0 == nil }

    /// - Parameter found: what has the path; nil if nothing has it.
    /// - Throws: `conditionFails`.
    package func check(_ found: StoredAttributes?) throws(Failure) {
        guard holds(found) else { throw .conditionFails }
    }
}

extension Failure {
    /// The same as an upload may not replace it: unlike `otherVersion`, to send it again is of no use.
    package static func isNotSeen(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) has changed since the client has looked at it; it is left as it is.")
    }

    package static func isTaken(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) is taken by other content.")
    }

    package static func isDirectory(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) is a directory, which a file cannot replace.")
    }

    package static func mayNotReplace(_ path: RelativePath) -> Failure {
        Failure(
            .forbidden,
            "\(path) was not stored by this client, which may not replace what others have stored. Push it with another conflict policy, "
                + "or under another name.")
    }

    /// The client made its request depend on something else than what is there.
    package static let conditionFails = Failure(
        .pathConflict, "What is stored there is not what the request demands.")
}

/// How a publication ended.
package enum PublicationOutcome: Equatable, Sendable {
    /// Under this path, durably if the store is. The file is this one from now on, as far as that could be found out.
    case committed(RelativePath, ContentVersion?)
    /// The same, in place of a file with the same content, which nobody could say is on disk.
    case restored(RelativePath, ContentVersion?)
    /// The same, in place of a file that was acknowledged for this content, and that the disk has lost since.
    case healed(RelativePath, ContentVersion?)
    /// The same content was already there; as durable.
    case alreadyStored(RelativePath, ContentVersion?)
    /// The name is taken and the client asked to leave it.
    case skipped
}

extension Result<PublicationOutcome, Failure> {
    /// Whether the staged bytes are of no more use. After an error of the class `server` the client may send the upload again, and the
    /// server goes on with them.
    package var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.code.class != .server
        }
    }
}

/// A publication whose transaction is open. A store that keeps names, mail and records in one database returns one with what it has
/// published (`PublishedBatch.settlement`): nothing of the batch shows to others, or is durable, before it is committed. A store that
/// publishes for good, as a directory does, returns none, and mail and records follow by themselves.
///
///     publish ─► queue mail ─► (sign receipts) ─► commit
///       │                                           └─► throws: nothing of the batch is stored
///       └─► the settlement goes without a commit: nothing of the batch is stored
///
/// The commit pipeline calls it in this order, once each, on the thread that has published, before it does anything else for the
/// client: no transaction is open while a client is waited for.
package protocol Settlement: AnyObject {
    /// Queues mails as `MailRecords.queue` does. The transaction removes the content of mails that are refused, and of those that wait
    /// already.
    func queue(_ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits) throws(RecordsError) -> [QueuedMail]

    /// Records the uploads as `UploadRecords.record` does, and commits. No mark of rot is left of their files. When this returns, all of
    /// it is as durable as the store is.
    ///
    /// - Parameters:
    ///   - entries: of files; none of mails.
    ///   - receipts: whose numbers entries have, from the first of them to the last.
    /// - Throws: why nothing of the batch is stored, or why that is not known: its uploads are refused, and each may be sent again.
    func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError)
}
