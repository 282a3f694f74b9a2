import TransferCodec
package import TransferModel
package import TransferPorts

/// The database of a cluster: names, contents, acknowledgements and unfinished uploads, for any number of servers.
/// Synchronous and safe to call from any thread of a pool; each call may wait for the network, once.
///
/// Readers look, decide, and then apply changes that state what they have seen. Nothing is locked in between: if a row
/// that was looked at has changed, `apply` throws `conflict` and changes nothing, and the caller looks again.
///
///     look, list, … ─► decide ─► apply ─► conflict: look again
///
/// Each call of `apply` and of the methods that change something is one transaction, as durable as the database is when
/// the call returns. If a call throws `unknown`, the caller must find out what happened, or repeat a call that changes
/// nothing the second time.
package protocol ClusterLedger: AnyObject, Sendable {
    // MARK: The tree

    /// Returns the nodes at paths and at the folders above them.
    func look(_ paths: LedgerPaths) throws(LedgerError) -> [NodeRow?]

    /// The nodes with these numbers, in their order; nil for a node that is gone.
    func nodes(_ numbers: [UInt64]) throws(LedgerError) -> [NodeRow?]

    /// The nodes in a folder, in the order of the bytes of their names.
    ///
    /// - Parameters:
    ///   - name: the name after which the page begins; nil for the first page.
    ///   - limit: the most nodes to return.
    func list(_ folder: UInt64, after name: PathKey?, limit: Int) throws(LedgerError) -> [NodeRow]

    /// The names from the top down to nodes, in the order of the numbers; nil for a node that is gone.
    func paths(of numbers: [UInt64]) throws(LedgerError) -> [[PathKey]?]

    /// The extents of a file whose content is `StoredBytes.extents`, in order; empty for any other node.
    func extents(of number: UInt64) throws(LedgerError) -> [Extent]

    /// The number and the bytes of all files below folders, at any depth.
    func sum(below folders: [UInt64]) throws(LedgerError) -> (files: Int, bytes: UInt64)

    /// Files by number, for a walk through all that is stored.
    ///
    /// - Parameters:
    ///   - number: the number after which the page begins.
    ///   - limit: the most nodes to return.
    func files(after number: UInt64, limit: Int) throws(LedgerError) -> [NodeRow]

    /// Files whose bytes are all in one object, in the order of their places; without empty files. This reads all files,
    /// because no index finds files by objects.
    ///
    /// - Parameters:
    ///   - place: the place after which the page begins; nil for the first page.
    ///   - limit: the most files to return.
    func placed(after place: PlacedFile.Place?, limit: Int) throws(LedgerError) -> [PlacedFile]

    // MARK: Changes

    /// Makes changes, all or none.
    ///
    /// - Throws: `conflict` if an expected node has changed, a name is taken, a removed folder has entries, an upload has
    ///   another epoch or an entry for another file, or an object that is to be shared has no content any more;
    ///   `epochClosed`.
    func apply(_ changes: LedgerChanges) throws(LedgerError)

    // MARK: Objects

    /// Opens an epoch, from which the caller takes numbers.
    func open(_ epoch: EpochRow) throws(LedgerError)

    /// Epochs by number; epochs that are not known are left out.
    func epochs(_ numbers: [UInt64]) throws(LedgerError) -> [EpochRow]

    /// Closes epochs that were opened before a moment of the database's clock, after the last commit that needs them.
    ///
    /// - Parameter age: nanoseconds.
    /// - Returns: all epochs that are closed and not swept.
    func closeEpochs(olderThan age: Int64) throws(LedgerError) -> [EpochRow]

    /// Which of some objects have a row, whatever refers to them.
    func known(_ objects: [ObjectNumber]) throws(LedgerError) -> Set<ObjectNumber>

    /// Notes that all objects of a closed epoch without a row are deleted.
    func noteSwept(_ epoch: UInt64) throws(LedgerError)

    /// Objects that nothing has referred to for some time, and that no commit will refer to, because their epochs are
    /// not open. They are to be deleted.
    ///
    /// - Parameters:
    ///   - age: nanoseconds of the database's clock since the last reference went.
    ///   - limit: the most objects to return.
    func unused(for age: Int64, limit: Int) throws(LedgerError) -> [ObjectNumber]

    /// Removes rows of objects that are deleted.
    func forget(_ objects: [ObjectNumber]) throws(LedgerError)

    /// Objects of which less than half is live, in the order of their numbers.
    ///
    /// - Parameters:
    ///   - age: nanoseconds of the database's clock since the object's epoch was opened.
    ///   - object: the object after which the page begins.
    ///   - limit: the most objects to return.
    func sparse(for age: Int64, after object: ObjectNumber, limit: Int) throws(LedgerError) -> [ObjectRow]

    /// What some objects are used for, in any order. This reads all files, because no index finds files by objects.
    func uses(of objects: [ObjectNumber]) throws(LedgerError) -> [ObjectUse]

    /// Lets files use content that was copied into a new object. Their `touch` changes, so that no decision about the
    /// old places is applied.
    ///
    /// - Throws: `conflict` if a file or the live bytes of an old object have changed, or a use was not copied;
    ///   `epochClosed`.
    func rewrite(_ rewrite: ObjectRewrite) throws(LedgerError)

    /// Records epochs and objects that were found in the bucket. The epochs are swept: no server takes numbers of them,
    /// and none of their objects is deleted for having no row.
    ///
    /// - Throws: `conflict` if the database has one of them already.
    func adopt(_ epochs: [EpochRow], _ objects: [ObjectRow]) throws(LedgerError)

    /// Removes all rows but the notes and the access lists (`accessLists`), for `CatalogRebuild`, which begins again.
    func discardContents() throws(LedgerError)

    // MARK: Unfinished uploads

    /// Makes a row for an unfinished upload, unless there is one.
    ///
    /// - Parameter limit: the most unfinished uploads of the cluster.
    /// - Returns: the row, and whether it is new.
    /// - Throws: `full` if there are as many as there may be.
    func begin(_ upload: OpenUploadRow, limit: Int) throws(LedgerError) -> (row: OpenUploadRow, isNew: Bool)

    /// An unfinished upload with its parts, in their order; nil if it does not exist.
    func upload(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])?

    /// The epoch of an unfinished upload, and whether it has parts in a range; nil if it does not exist.
    func epoch(of id: UploadID, _ range: Range<UInt64>) throws(LedgerError) -> (epoch: UInt64, hasParts: Bool)?

    /// Begins the next epoch of an unfinished upload.
    ///
    /// - Returns: the upload with its new epoch; nil if it does not exist.
    func takeOver(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])?

    /// Replaces parts of an unfinished upload.
    ///
    /// - Parameters:
    ///   - range: the bytes whose parts are replaced.
    ///   - part: the new part, which is in `range`; nil to only remove parts.
    ///   - objects: new objects that the part is in.
    ///   - append: the new state of an append upload, which has to be behind the recorded one; nil for others.
    ///   - epoch: the epoch of `objects`, which has to be open; nil without new objects.
    /// - Throws: `conflict` if the upload has another epoch or a later state by now, or is gone.
    func replace(
        _ range: Range<UInt64>, by part: PartRow?, _ objects: [ObjectRow], in upload: OpenUploadRow, epoch: UInt64?
    ) throws(LedgerError)

    /// All unfinished uploads without their parts.
    func uploads() throws(LedgerError) -> [OpenUploadRow]

    /// Records what clients have declared of uploads that have begun, in place of earlier declarations, and forgets
    /// others.
    func declare(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(LedgerError)

    /// All recorded declarations, the oldest first.
    func declared() throws(LedgerError) -> [UnfinishedUpload]

    // MARK: Acknowledged uploads

    /// The entries with these IDs, in their order; nil for an unknown ID.
    func entries(_ ids: [UploadID]) throws(LedgerError) -> [LedgerEntry?]

    /// Returns what `entries` and `look` return, on one round trip.
    func entries(
        _ ids: [UploadID], looking paths: LedgerPaths
    ) throws(LedgerError) -> (entries: [LedgerEntry?], nodes: [NodeRow?])

    /// The entries of files, the newest 64 of each state for each file, in the order of the files.
    func entries(of nodes: [UInt64]) throws(LedgerError) -> [[LedgerEntry]]

    /// All entries in the order of their numbers.
    ///
    /// - Parameters:
    ///   - number: the number after which the page begins.
    ///   - limit: the most entries to return.
    func entries(after number: Int64, limit: Int) throws(LedgerError) -> [LedgerEntry]

    /// The entries of the files in one folder, in the order of the bytes of the files' names.
    ///
    /// - Parameters:
    ///   - name: the name after which the page begins; nil for the first page.
    ///   - limit: the most files whose entries are returned.
    func entries(
        in folder: UInt64, after name: PathKey?, limit: Int
    ) throws(LedgerError) -> [(node: NodeRow, entries: [LedgerEntry])]

    /// The number of entries in each state, and the bytes of their content.
    func totals() throws(LedgerError) -> [CatalogEntry.State: CatalogTotals]

    /// What the files that one client has sent take.
    ///
    /// - Parameter excluded: folders that are not counted, although files may be below them.
    func use(of client: UInt64, outside excluded: [UInt64]) throws(LedgerError) -> StoredUse

    /// The receipts that share a signature with a receipt; nil if the number is not known, or not all of them.
    func receipts(with number: UInt64) throws(LedgerError) -> KeptReceipts?

    /// Reserves numbers for receipts.
    ///
    /// - Returns: the first of `count` numbers, all of which are greater than those that were reserved before.
    func reserveReceipts(_ count: Int64) throws(LedgerError) -> UInt64

    // MARK: Rotten files

    /// The digests of those of these files that are marked as rotten (`FileRow.isRotten`).
    func rotten(_ nodes: [UInt64]) throws(LedgerError) -> [UInt64: Digest]

    /// Whether any file is marked as rotten.
    func hasRotten() throws(LedgerError) -> Bool

    /// The digests of all files that are marked as rotten.
    func allRotten() throws(LedgerError) -> [UInt64: Digest]

    /// Marks files as rotten, unless they are gone. This changes their `touch`.
    func mark(rotten files: [UInt64]) throws(LedgerError)

    /// Removes marks of rot, which changes the `touch` of the files.
    func removeMarks(_ nodes: [UInt64]) throws(LedgerError)

    // MARK: Mail

    /// What decisions about mails depend on.
    ///
    /// - Parameters:
    ///   - ids: mails to return, with all their deliveries.
    ///   - recipients: people whose waiting mail is counted.
    func mailFacts(_ ids: [UploadID], _ recipients: [String]) throws(LedgerError) -> MailFacts

    /// Changes mails and deliveries.
    ///
    /// - Throws: `conflict` if any mail or delivery has changed since the facts were read.
    func apply(_ changes: MailChanges) throws(LedgerError)

    /// The number and bytes of deliveries that wait for one person; nil for all.
    func waiting(for recipient: String?) throws(LedgerError) -> (count: Int, bytes: UInt64)

    /// The deliveries for a recipient, in the order of their numbers, as `MailRecords.inbox` returns them.
    func inbox(
        of recipient: String, after number: UInt64, limit: Int, withEnded: Bool
    ) throws(LedgerError) -> [Delivery]

    /// The deliveries from a sender, in the order of their numbers.
    func sent(by sender: String, after number: UInt64, limit: Int) throws(LedgerError) -> [Delivery]

    /// The mails with a delivery that is open.
    ///
    /// - Parameter client: the client that sent them; nil for all.
    func openMails(from client: UInt64?) throws(LedgerError) -> [Mail]

    /// Open deliveries that have had their state for some time, and whose mails are as old, in the order of their
    /// numbers.
    ///
    /// - Parameter age: nanoseconds of the database's clock.
    func overdueMail(for age: Int64, limit: Int) throws(LedgerError) -> [DeliveryRow]

    /// Removes mails that are older than `age` and whose deliveries have all ended longer ago than that.
    ///
    /// - Parameter age: nanoseconds of the database's clock.
    func forgetMail(endedFor age: Int64) throws(LedgerError)

    /// All people that the database knows, in the order of the bytes of their names.
    func people() throws(LedgerError) -> [KnownPerson]

    /// Names from wires without keys that no delivery is addressed to or from, the oldest first.
    func idlePeople(limit: Int) throws(LedgerError) -> [String]

    func forget(people names: [String]) throws(LedgerError)

    /// Records people as they are now.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    func keep(_ persons: [KnownPerson], at moment: Int64) throws(LedgerError)

    // MARK: Access

    /// Access lists by their names, in the order of the names. A list that was never written is empty.
    func accessLists(_ names: [String]) throws(LedgerError) -> [AccessListRow]

    /// Writes access lists, all or none.
    ///
    /// - Parameter lists: the new content, with the revision of the list that it replaces.
    /// - Throws: `conflict` if a list has another revision by now.
    func replace(_ lists: [AccessListRow]) throws(LedgerError)

    // MARK: What was found

    /// The present term. It grows when another database answers this server than before, after a fail-over, which may
    /// have lost what was read.
    var term: LedgerTerm { get }

    /// Returns when everything that this server has read since a term is as durable as its own commits. A server that
    /// acknowledges what another one has committed calls it first: a commit that other servers see may not have reached
    /// the standbys.
    ///
    /// - Parameter term: the term before the first call that has read it.
    /// - Throws: `unavailable` if another term has begun since: then some of it may be lost.
    func awaitDurability(of term: LedgerTerm) throws(LedgerError)
}

/// A time during which the same database has answered all calls of one server.
package struct LedgerTerm: Equatable, Sendable {
    package let number: Int

    package init(_ number: Int) { self.number = number }
}

extension ClusterLedger {
    /// Makes changes, or waits as `awaitDurability` does if nothing changes: then the caller's answer says that everything
    /// is as it should be already, perhaps by a commit of another server.
    ///
    /// - Parameter term: the term before the caller has looked.
    func settle(_ changes: LedgerChanges, since term: LedgerTerm) throws(LedgerError) {
        if changes.isEmpty { try awaitDurability(of: term) } else { try apply(changes) }
    }

    /// Does the same for mailboxes.
    func settle(_ changes: MailChanges, since term: LedgerTerm) throws(LedgerError) {
        if changes.isEmpty { try awaitDurability(of: term) } else { try apply(changes) }
    }
}

/// Paths and the folders above them, each once, so that a ledger finds all of them in one query.
package struct LedgerPaths: Sendable {
    /// A name in a folder.
    package struct Step: Sendable {
        /// The position of the folder in `steps`; nil for the top.
        package let above: Int?
        package let name: PathKey
    }

    /// The names, each behind the folder that it is in.
    package private(set) var steps: [Step] = []
    private var positions: [RelativePath: Int] = [:]

    package init() {}

    /// Adds a path and the folders above it.
    ///
    /// - Returns: the position of the path in `steps`.
    @discardableResult
    package mutating func add(_ path: RelativePath) -> Int {
        if let known = positions[path] { return known }
        let above = path.parent.map { add($0) }
        steps.append(Step(above: above, name: PathKey(String(path.name))))
        positions[path] = steps.count - 1
        return steps.count - 1
    }

    /// The paths in the order of `steps`.
    package var paths: [RelativePath] { positions.sorted { $0.value < $1.value }.map(\.key) }
}

/// A hash of a path, from which a server recognises that a file was moved since it was acknowledged: the file or a folder
/// above it has another name. Eight bytes instead of the path keep rows small. A collision, which a client could only
/// make for its own files, lets an acknowledgement hold for the moved file.
package struct PathHash: Equatable, Sendable {
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    package init(_ path: String) {
        var path = path
        rawValue = path.withUTF8 { bytes in
            BlockHasher.digest(.xxh128, UnsafeRawBufferPointer(bytes)).prefix(8)
                .reduce(0) { $0 << 8 | Int64($1) }
        }
    }
}

/// An acknowledged upload as the ledger finds it.
package struct LedgerEntry: Sendable {
    /// A number that grows with each entry.
    package let number: Int64

    /// The entry. Its path is empty, because the ledger keeps only a hash of it, and so is its version.
    package let entry: CatalogEntry

    /// The hash of the path that was acknowledged.
    package let path: PathHash

    /// The number of the file.
    package let node: UInt64

    package init(number: Int64, _ entry: CatalogEntry, at path: PathHash, of node: UInt64) {
        (self.number, self.entry, self.path, self.node) = (number, entry, path, node)
    }
}

/// Why the ledger has not done what it was asked.
package struct LedgerError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// A row that the caller had looked at has changed. Nothing is changed; look again.
        case conflict
        /// The server has not committed for so long that its epoch was closed. Nothing is changed.
        case epochClosed
        /// It is unknown whether the changes were made.
        case unknown
        /// The database cannot be reached or does not answer; nothing is changed, and a retry can succeed.
        case unavailable
        /// The database takes no changes for now: it is a standby, or read-only.
        case readOnly
        /// The database has no room, or a limit is reached.
        case full
        /// A row contradicts itself, or has a form that this program does not know.
        case damaged
        /// The database refuses this server for good: no rights, another version, another cluster.
        case refused
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let message: String

    package init(_ reason: Reason, _ message: String) { (self.reason, self.message) = (reason, message) }
}
