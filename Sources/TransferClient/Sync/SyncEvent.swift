public import TransferModel

/// What happens while two trees are made the same, in order.
public enum SyncEvent: Sendable {
    /// The server has answered.
    case connected(server: String)

    /// Something that people should be told: a sentence without its period.
    case notice(String)

    /// The connection was lost; the next attempt follows after that many seconds.
    case reconnecting(reason: String, after: Double)

    /// Both trees are known, and what there is to do.
    case planned(files: Int, bytes: UInt64)

    /// How far a long file is.
    case progress(UploadProgress)

    /// Something was changed, or was not.
    case finished(SyncChange)

    /// All is done; always the last one.
    case ended(SyncSummary)
}

/// One change that makes a tree more like the other one.
public struct SyncChange: Sendable, Equatable {
    /// What is done.
    public enum Action: String, Sendable, CaseIterable {
        /// A file that was not there is sent.
        case new
        /// A file that was another one is sent.
        case changed
        /// A file that is known under another path is moved.
        case moved
        /// A folder is made.
        case folder
        /// A symbolic link is made.
        case link
        /// A file gets another name.
        case hardLink = "hard-link"
        /// Permissions, time, owner or extended attributes are set.
        case attributes
        /// Something that the source doesn't have is removed, a folder with all that is in it.
        case removed
        /// Something is in the way of what the source has, and is removed.
        case cleared
        /// The target has something of its own, which stays: another one has changed it.
        case conflict
        /// A file of the target is newer, and stays.
        case kept
        /// Some of the source cannot be looked at, or have a path on the other side.
        case unreadable
        /// Something is neither a file nor a folder nor a link.
        case skipped
    }

    /// What is done.
    public var action: Action

    /// Below the folder that is made the same; empty for that itself.
    public var path: String

    /// Of what is moved, where it was; of what gets another name, the name that it has.
    public var origin: String?

    /// Of a conflict, the path at which the target has what the source has; nil where it has not.
    public var copy: String?

    /// Bytes of content; 0 of what is no file.
    public var size: UInt64 = 0

    /// Files, folders and links that it is about: more than one only of a folder that is removed.
    public var count = 1

    /// `completed`, or why it was not done.
    public var result = ResultCode.completed

    /// A sentence for people; empty when there is nothing to say.
    public var message = ""

    /// Whether it was done, or would be.
    public var isDone: Bool { result == .completed }
}

/// How much was done in all, or would be.
public struct SyncSummary: Sendable, Equatable {
    /// Files that were sent.
    public var sent = 0

    /// Bytes of their content.
    public var sentBytes: UInt64 = 0

    /// Files, folders and links that were the same.
    public var unchanged = 0

    /// What the selection leaves out, and devices, sockets and the like.
    public var leftOut = 0

    /// Files that were moved and not sent again.
    public var moved = 0

    /// Folders and links that were made, and names that files got.
    public var made = 0

    /// Where attributes alone were set.
    public var attributes = 0

    /// Files, folders and links that were removed.
    public var deleted = 0

    /// Files that both sides have changed.
    public var conflicts = 0

    /// Files of the target that are newer, and stay.
    public var kept = 0

    /// What was not done, or is not known.
    public var failed = 0

    /// Parts of the server's trash that have what was replaced, and how many files each.
    public var trash: [TrashedBatch: Int] = [:]

    /// Why nothing was removed though that was asked for; nothing where that is not so.
    public var deletionStop: String?

    /// Whether the two were the same already.
    public var isUnchanged: Bool {
        sent + moved + made + attributes + deleted + conflicts + failed == 0 && deletionStop == nil
    }
}
