package import TransferModel

/// What a server remembers of uploads across its restarts. Stored content never depends on it. Synchronous and safe to call
/// from any thread.
package protocol UploadRecords: AnyObject, Sendable, IntendedChanges {
    /// Why they could not be opened at first; nil when they could.
    var fault: RecordsError? { get }

    /// Whether it knew nothing when it was opened, so that all it knows came since.
    var wasEmpty: Bool { get }

    /// Records uploads, all of them or none, over what it knew of their ids. When this returns they are as durable as it
    /// is.
    ///
    /// - Parameter receipts: whose numbers entries have, from the first of them to the last.
    /// - Returns: whether any file may be known to be rotten.
    @discardableResult
    func record(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) -> Bool

    /// Records uploads that have begun, over what was known of them as unfinished, and forgets others that were. What was
    /// acknowledged stays as it is.
    ///
    /// It survives the process, and a crash of the machine once anything else was recorded behind it: so it costs no sync.
    ///
    /// - Parameter given: ids of those that will not be finished.
    func recordUnfinished(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(RecordsError)

    /// The uploads that have begun and were neither acknowledged nor forgotten, the oldest first.
    func unfinished() throws(RecordsError) -> [UnfinishedUpload]

    /// Enters what was recorded where it can be found by its path; for when nobody waits.
    func index() throws(RecordsError)

    /// Whether anything was recorded that `entries(at:)` doesn't find before it is indexed.
    var hasUnindexed: Bool { get }

    /// - Returns: one for each id, in their order; nothing for one that it doesn't know.
    func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?]

    /// What was acknowledged under each of these paths and has been indexed: of each the newest 64, in no order.
    func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]]

    /// What has stored a file under a path, and has been indexed: the newest 64, in no order.
    func stored(at path: String) throws(RecordsError) -> [CatalogEntry]

    /// Some of what was acknowledged for the files in one folder and has been indexed, in the order of their names.
    ///
    /// - Parameter start: where to go on, as the page before says; the query's prefix to begin.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles

    /// Calls `body` with all acknowledged uploads that it knows, in the order in which it came to know it.
    ///
    /// - Returns: the number of entries that could not be read.
    @discardableResult
    func forEachEntry(_ body: (CatalogEntry) -> Void) throws(RecordsError) -> Int

    /// Calls `body` with all acknowledged uploads that it knows, in the order of their paths' bytes. Those that cannot be read are left
    /// out.
    func forEachEntryByPath(_ body: (CatalogEntry) -> Void) throws(RecordsError)

    /// Keeps what is about to be changed, all or nothing, as durably as the records are, until it is known what came of it.
    func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges

    /// What was acknowledged, in each state.
    func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals]

    /// How many acknowledged uploads it knows.
    func count() throws(RecordsError) -> Int

    /// - Returns: all receipts that one was signed with; nothing for a number that it doesn't know.
    func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts?

    /// Above all numbers of receipts that were given, as long as it was there to keep that.
    var receiptNumber: UInt64 { get throws(RecordsError) }

    /// Keeps a number that is above all of receipts; it is as durable as the records are when this returns.
    func keep(receiptNumber: UInt64) throws(RecordsError)

    /// Whether any file is known to be rotten.
    func hasRotten() throws(RecordsError) -> Bool

    /// What a file is known to have lost; nil for one that is not known to be rotten.
    func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile?

    /// Files were read, and are not what was acknowledged.
    func add(rotten files: [RottenFile]) throws(RecordsError)

    /// These files are well.
    func removeRotten(_ files: [ContentVersion]) throws(RecordsError)

    /// Where the directory was when a server looked last; nil where none has.
    func home() throws(RecordsError) -> KnownHome?

    /// Keeps where the directory is, with its rotten files as they are there.
    ///
    /// - Parameters:
    ///   - rotten: added to the marks that there are.
    ///   - voidsOthers: whether those go.
    func keep(_ home: KnownHome, rotten: [RottenFile], voidsOthers: Bool) throws(RecordsError)

    /// Rotten files, each with the paths that uploads say it has.
    func rottenPaths() throws(RecordsError) -> [(path: String, file: RottenFile)]

    /// Some paths that uploads have, in the order of their bytes, behind some; none at the end.
    func paths(after last: [UInt8]) throws(RecordsError) -> (paths: [String], end: [UInt8])

    /// How many paths uploads have.
    func pathCount() throws(RecordsError) -> Int

    /// Lets all that was acknowledged of these files hold for them as they are now.
    func adopt(_ adoptions: Adoptions) throws(RecordsError)

    /// Nothing of a copied directory is left to be adopted.
    func endAdoption() throws(RecordsError)

    /// Brings everything in order and lets go of it, so that another server may use it.
    func close() throws(RecordsError)
}

/// Records that were of no more use.
package struct RecordsDamage: Sendable {
    package let error: RecordsError

    /// Where they are now; nil where they could not be moved, so that there are none.
    package let movedTo: String?

    package init(error: RecordsError, movedTo: String?) { (self.error, self.movedTo) = (error, movedTo) }
}
