public import TransferModel

/// What happens during a sync, in order.
public enum SyncEvent: Sendable {
    /// The server has let the client in.
    case connected(server: String)

    /// A sentence for people, without its final period.
    case notice(String)

    /// The connection was lost; the client tries again after `after` seconds.
    case reconnecting(reason: String, after: Double)

    /// Both trees are known; the files and bytes to be sent are counted.
    case planned(files: Int, bytes: UInt64)

    /// Progress within a long file.
    case progress(UploadProgress)

    /// A change was made, or failed; see its result.
    case finished(SyncChange)

    /// The sync has ended; always the last event.
    case ended(SyncSummary)
}

/// One change that makes a tree more like the other one.
public struct SyncChange: Sendable, Equatable {
    /// The kind of the change.
    public enum Action: String, Sendable, CaseIterable {
        /// A file is sent that the target does not have.
        case new
        /// A file is sent that differs in the target.
        case changed
        /// A file that the target has under another path is moved.
        case moved
        /// A folder is made in the target.
        case folder
        /// A symbolic link is made in the target.
        case link
        /// A further hard link of a file is made in the target.
        case hardLink = "hard-link"
        /// Permissions, time, owner or extended attributes are set.
        case attributes
        /// An entry that the source doesn't have is removed, a folder with all its content.
        case removed
        /// An entry is removed because an entry of the source needs its path.
        case cleared
        /// A file of the target stays because another client or user has changed it.
        case conflict
        /// A file of the target is newer, and stays.
        case kept
        /// An entry of the source cannot be read, or cannot have a path on the other side.
        case unreadable
        /// An entry that is neither a file nor a folder nor a link is left out.
        case skipped
    }

    /// The kind of the change.
    public var action: Action

    /// The path below the folders that are compared; empty for these themselves.
    public var path: String

    /// The old path of a moved file, or the first name of a hard link; otherwise nil.
    public var origin: String?

    /// The path at which the target keeps the source's version after a conflict; nil if it does not.
    public var copy: String?

    /// Bytes of content; 0 except for files.
    public var size: UInt64 = 0

    /// Files, folders and links that the change concerns: more than one only for the removal of a folder.
    public var count = 1

    /// `completed`, or why the change failed.
    public var result = ResultCode.completed

    /// A sentence for people; may be empty.
    public var message = ""

    /// Whether the change was made, or would be in a dry run.
    public var isDone: Bool { result == .completed }
}

/// What a sync has done in all, or would do in a dry run.
public struct SyncSummary: Sendable, Equatable {
    /// Number of files that were sent.
    public var sent = 0

    /// Bytes of content of the sent files.
    public var sentBytes: UInt64 = 0

    /// Files, folders and links that were the same.
    public var unchanged = 0

    /// Entries that the selection leaves out, and devices, sockets and the like.
    public var excluded = 0

    /// Files that were moved instead of sent.
    public var moved = 0

    /// Folders, symbolic links and further names of files that were made.
    public var created = 0

    /// Entries of which only attributes were set.
    public var attributes = 0

    /// Files, folders and links that were removed.
    public var deleted = 0

    /// Files that both sides have changed.
    public var conflicts = 0

    /// Files of the target that are newer, and stay.
    public var kept = 0

    /// Changes that failed, and entries that could not be read.
    public var failed = 0

    /// Batches in the server's trash with what was replaced, and the number of files in each.
    public var trash: [TrashedBatch: Int] = [:]

    /// Why nothing was removed although `deletes` is set; nil if removals were not stopped.
    public var deletionStop: String?

    /// Whether the two trees were the same already.
    public var isUnchanged: Bool {
        sent + moved + created + attributes + deleted + conflicts + failed == 0 && deletionStop == nil
    }
}
