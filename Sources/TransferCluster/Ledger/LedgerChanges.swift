package import TransferModel
import TransferPorts

/// Changes of rows that take effect together, and what has to be true for that. The ledger makes all of them or none
/// (`ClusterLedger.apply`).
package struct LedgerChanges: Sendable {
    /// The epochs of new numbers, which have to be open.
    package var epochs: Set<UInt64> = []

    /// The nodes that the changes depend on, with the `touch` that each of them must still have: files that are compared,
    /// replaced, moved or shared, and all folders above the names that are taken. The top has no row and is not here.
    package var expected: [UInt64: Int64] = [:]

    // MARK: The tree

    /// Nodes that are removed, which have to be expected; a folder has to be empty when the other changes are made. What
    /// refers to a file is removed with it: its extents, entries and mark of rot.
    package var removed: Set<UInt64> = []

    /// Nodes with other attributes, another name or another folder. They have to be expected.
    package var updated: [UInt64: NodeRow] = [:]

    /// New nodes. No other node may have their name in the folder.
    package var made: [UInt64: NodeRow] = [:]

    /// The extents of new files whose content is `StoredBytes.extents`.
    package var extents: [UInt64: [Extent]] = [:]

    // MARK: Objects

    /// New objects, with the bytes that new extents have. Another transaction may have recorded an object already, with
    /// other files of the same pack; then these bytes are added.
    package var objects: [ObjectRow] = []

    /// How many bytes more, or fewer, of existing objects are referred to. An object that is to get more has to have
    /// some: otherwise it may be deleted at any moment.
    package var live: [ObjectNumber: Int64] = [:]

    // MARK: Uploads

    /// Acknowledged uploads, in place of earlier entries with their IDs, and of what was declared of them. An earlier entry
    /// has to be of the same file, or of one that is removed or `outlived`: otherwise another server has stored the upload
    /// meanwhile.
    package var entries: [EntryRow] = []

    /// Files that were moved since an upload was stored, so that the upload is stored again. They have to be expected.
    package var outlived: Set<UInt64> = []

    /// The batch of receipts whose numbers the entries have.
    package var receipts: SignedBatch?

    /// Changes of mailboxes, for content that is published as mail; nil for none.
    package var mail: MailChanges?

    /// Files whose mark of rot is removed.
    package var sound: Set<UInt64> = []

    /// Unfinished uploads that are published or discarded, with their epoch, which has to be the present one. Their parts
    /// refer to no object any more.
    package var ended: [UploadID: UInt64] = [:]

    /// When something was last added to some of the uploads in `ended` (`OpenUploadRow.written`). If something was added
    /// since, this is a conflict: the upload is not as old, or as short, as it was found.
    package var untouched: [UploadID: Int64] = [:]

    package init() {}

    package var isEmpty: Bool {
        removed.isEmpty && updated.isEmpty && made.isEmpty && objects.isEmpty && live.isEmpty && entries.isEmpty
            && receipts == nil && (mail?.isEmpty ?? true) && sound.isEmpty && ended.isEmpty
    }

    /// Notes that content refers to more bytes of an object, or to fewer.
    package mutating func count(_ bytes: Int64, of object: ObjectNumber) {
        guard object != .none, bytes != 0 else { return }
        let sum = (live[object] ?? 0).addingReportingOverflow(bytes)
        // Trap: never reached with sizes of files (63 bits); a clamped sum would only keep an object too long.
        let count = sum.overflow ? Int64.max : sum.partialValue
        live[object] = count == 0 ? nil : count
    }

    /// Notes that a file of this content is made, or removed.
    ///
    /// - Parameters:
    ///   - sign: 1 or -1.
    ///   - extents: the extents of the content, if it is `StoredBytes.extents`.
    package mutating func count(_ file: FileRow, _ sign: Int64, _ extents: [Extent]) {
        switch file.content {
        case .whole(let object, _): count(sign * Int64(clamping: max(1, file.size)), of: object)
        case .extents(_, let described):
            count(sign, of: described)
            for extent in extents { count(sign * Int64(clamping: extent.count), of: extent.object) }
        }
    }
}
