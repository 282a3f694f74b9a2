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

    /// Where that is known.
    package var sender: Sender?

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
