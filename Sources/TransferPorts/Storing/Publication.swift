package import TransferModel
import TransferSystem

/// The connection that sent an upload.
package struct Sender: Sendable {
    /// The number of the connection. Newer connections have greater numbers.
    package let connection: Int

    /// Whether the connection is lost. May be called on any thread.
    package let isGone: @Sendable () -> Bool

    package init(connection: Int, isGone: @escaping @Sendable () -> Bool) {
        self.connection = connection
        self.isGone = isGone
    }
}

/// A command of a client, which must not replace files that it has stored itself.
package struct StoringCommand: Sendable, Equatable {
    /// A random number, the same on all connections of the command.
    package let id: UInt64

    /// Whether the command may replace a file that it has stored itself at the same path: the client may have lost the
    /// answer, and the source may have changed since.
    package let mayRepeat: Bool

    package init(id: UInt64, mayRepeat: Bool = false) { (self.id, self.mayRepeat) = (id, mayRepeat) }
}

/// Who has sent an upload and as what, for the records of the upload and for descriptions beside its content.
package struct UploadOrigin: Equatable, Sendable {
    package var kind: ContentKind

    /// The server's name for the client (`CatalogEntry.sender`).
    package var sender: String

    /// Identifies the client whatever its name is; nil for a client without a key or token.
    package var client: UInt64?

    /// The push that the upload belongs to, as the client named it; nil if it belongs to none.
    package var run: UInt64?

    package init(_ kind: ContentKind = .file, sender: String = "", client: UInt64? = nil, run: UInt64? = nil) {
        (self.kind, self.sender, self.client, self.run) = (kind, sender, client, run)
    }
}

/// An upload that is ready to get its name: its size and digest match what the client declared.
package struct Publication {
    /// The staged bytes, in the store that will publish them.
    package var content: any StagedContent
    package var id: UploadID
    package var path: RelativePath
    package var size: UInt64

    /// The digest of the bytes that were written.
    package var digest: Digest
    package var conflict: ConflictPolicy
    package var modified: Timestamp?
    package var permissions: UInt16?

    /// Whether the file gets exactly these permissions, whatever the umask is.
    package var keepsPermissions = false

    /// Owner and extended attributes of the file; nil for those of any new file.
    package var attributes: ExtraAttributes?

    /// The version that the upload may replace, if it replaces anything; nil for any.
    package var compared: ComparedFile?

    /// The version that the upload may replace, in the form that clients know; `FileVersion.none` for no file, nil for
    /// any. It is compared when the publication gets its path.
    package var replaceable: FileVersion?

    /// The condition on the file at the path when the publication gets the path; nil for no condition. With a
    /// condition, an upload only takes a free path or replaces a file: `conflict` is `overwrite` or `fail`.
    package var condition: PublicationCondition?

    /// Whether the client may learn that a file has the content that it publishes; nil if it may learn that of all
    /// files. Files of which it may not are treated as different content.
    package var mayCompare: (@Sendable (RelativePath, ContentVersion) -> Bool)?

    /// Where replaced files go; nil if they are removed for good.
    package var trash: OpenTrashBatch?

    /// The connection that sent the upload, if that is known.
    package var sender: Sender?

    /// Who has sent it and as what, for a store that describes content beside it.
    package var origin = UploadOrigin()

    /// The command that the upload belongs to, if that is known.
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

    /// - Parameter found: the version at the path; nil if the path is free, so that nothing can be lost.
    /// - Throws: `pathConflict` if it is not the version that the client has seen.
    package func checkVersion(_ found: ContentVersion?) throws(Failure) {
        guard let replaceable, let found, found.told != replaceable else { return }
        throw .isNotSeen(path)
    }
}

/// A condition on what is at a path at the moment when a publication gets the path. A check at an earlier time would
/// not be enough.
package struct PublicationCondition: Sendable {
    private let holds: @Sendable (StoredAttributes?) -> Bool

    /// - Parameter holds: called on any thread, several times if others change the path meanwhile; receives nil if
    ///   nothing is at the path. It is never true for links and special files.
    package init(_ holds: @escaping @Sendable (StoredAttributes?) -> Bool) { self.holds = holds }

    /// Nothing may be at the path.
    package static let onlyNew = PublicationCondition { $0 == nil }

    /// - Parameter found: the attributes of the file or folder at the path; nil if the path is free.
    /// - Throws: `conditionFails`.
    package func check(_ found: StoredAttributes?) throws(Failure) {
        guard holds(found) else { throw .conditionFails }
    }
}

extension Failure {
    /// An upload may not replace a file that has changed. Unlike after `otherVersion`, sending it again does not help.
    package static func isNotSeen(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) has changed since the client looked at it; it was not changed.")
    }

    package static func isTaken(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) exists already, with other content.")
    }

    package static func isDirectory(_ path: RelativePath) -> Failure {
        Failure(.pathConflict, "\(path) is a directory, which a file cannot replace.")
    }

    package static func mayNotReplace(_ path: RelativePath) -> Failure {
        Failure(
            .forbidden,
            "\(path) was not stored by this client, which may replace only its own files. Push it with "
                + "another conflict policy, or under another name.")
    }

    /// What is stored does not meet the condition of the request.
    package static let conditionFails = Failure(
        .pathConflict, "The stored file does not meet the conditions of the request.")
}

/// How a publication has ended.
package enum PublicationOutcome: Equatable, Sendable {
    /// Stored under this path, durably if the store is. The version is nil if it could not be read.
    case committed(RelativePath, ContentVersion?)
    /// The upload is stored in place of a file with the same content that may not have been durable.
    case restored(RelativePath, ContentVersion?)
    /// The upload is stored in place of a file that was acknowledged with this content, which the disk has lost since.
    case healed(RelativePath, ContentVersion?)
    /// The path already had the same content, which is as durable.
    case alreadyStored(RelativePath, ContentVersion?)
    /// The path is taken, and the conflict policy is to skip.
    case skipped
}

extension Result<PublicationOutcome, Failure> {
    /// Whether the staged bytes are not needed any more. After an error of the class `server`, the client may send the
    /// upload again, and the server resumes it.
    package var isFinal: Bool {
        switch self {
        case .success: true
        case .failure(let error): error.code.class != .server
        }
    }
}

/// A publication whose transaction is open. A store that keeps names, mail and records in one database returns one with
/// what it has published (`PublishedBatch.settlement`): nothing of the batch is visible or durable before it is
/// committed. A store without such transactions, for example a directory, returns nil, and mail and records follow
/// separately.
///
///     publish ─► queue mail ─► (sign receipts) ─► commit
///       │                                           └─► throws: nothing of the batch is stored
///       └─► the settlement is released without a commit: nothing of the batch is stored
///
/// The commit pipeline calls it in this order, once each, on the thread that has published, before it does anything
/// else for the client: a transaction is never open while the server waits for a client.
package protocol Settlement: AnyObject {
    /// Queues mails as `MailRecords.queue` does. The transaction removes the content of mails that are refused or that
    /// wait already.
    func queue(_ mails: [(mail: Mail, recipients: [String])], _ limits: MailLimits) throws(RecordsError) -> [QueuedMail]

    /// Records the uploads as `UploadRecords.record` does, and commits. Marks of rot for their files are removed. When
    /// this returns, all of it is as durable as the store is.
    ///
    /// - Parameters:
    ///   - entries: entries of files, not of mails.
    ///   - receipts: the batch of receipts whose numbers the entries have, from the first to the last.
    /// - Throws: why nothing of the batch is stored, or why that is unknown. Its uploads are refused, and each may be
    ///   sent again.
    func commit(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError)
}
