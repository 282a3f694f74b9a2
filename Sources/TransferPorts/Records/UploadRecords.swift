package import TransferModel

/// What a server remembers of uploads across restarts. Stored content never depends on it. Synchronous and safe to call
/// from any thread.
package protocol UploadRecords: AnyObject, Sendable, IntendedChanges {
    /// Why the records could not be opened at first; nil if they could.
    var fault: RecordsError? { get }

    /// Whether the records were empty when they were opened.
    var wasEmpty: Bool { get }

    /// Records uploads, all of them or none, and replaces earlier entries with their ids. When this returns, they are
    /// as durable as the records are.
    ///
    /// - Parameter receipts: the batch of receipts whose numbers the entries have, from the first to the last.
    /// - Returns: whether any file is known to be rotten.
    @discardableResult
    func record(_ entries: [CatalogEntry], with receipts: SignedBatch?) throws(RecordsError) -> Bool

    /// Records uploads that have begun, in place of earlier declarations, and forgets other unfinished uploads.
    /// Acknowledged uploads are not affected.
    ///
    /// This survives the end of the process, and a crash of the machine as soon as anything else is recorded
    /// afterwards; so it costs no sync.
    ///
    /// - Parameter given: ids of uploads that will not be finished.
    func recordUnfinished(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(RecordsError)

    /// The uploads that have begun and were neither acknowledged nor forgotten, the oldest first.
    func unfinished() throws(RecordsError) -> [UnfinishedUpload]

    /// Indexes what was recorded, so that it can be found by path. Called while no client waits.
    func index() throws(RecordsError)

    /// Whether anything was recorded that `entries(at:)` doesn't find before it is indexed.
    var hasUnindexed: Bool { get }

    /// - Returns: one element for each id, in their order; nil for an unknown id.
    func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?]

    /// Looks up uploads that will be published at these paths unless they are known. Records that are in the same
    /// database as the store look at the paths on the same round trip.
    ///
    /// - Returns: the same entries as `entries(for:)`, and what was seen at the paths, for `ContentStore.publish`.
    func entries(
        for ids: [UploadID], publishingAt paths: [RelativePath]
    ) throws(RecordsError) -> (entries: [CatalogEntry?], seen: (any SeenPaths)?)

    /// The indexed entries of each path: the newest 64 of each state, in no order.
    func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]]

    /// The indexed entries that have stored a file under a path: the newest 64, in no order.
    func stored(at path: String) throws(RecordsError) -> [CatalogEntry]

    /// A page of the indexed uploads for the files in one folder, in the order of their names.
    ///
    /// - Parameter start: `next` of the page before, or the prefix of the query for the first page.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles

    /// Calls `body` with all acknowledged uploads, in the order in which they were recorded.
    ///
    /// - Returns: the number of entries that could not be read.
    @discardableResult
    func forEachEntry(_ body: (CatalogEntry) -> Void) throws(RecordsError) -> Int

    /// Calls `body` with all acknowledged uploads, in the order of their paths' bytes. Entries that cannot be read are
    /// left out.
    func forEachEntryByPath(_ body: (CatalogEntry) -> Void) throws(RecordsError)

    /// Notes changes that are about to be made, all or none, as durably as the records are. The notes stay until
    /// `complete`.
    func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges

    /// What the stored files of one client take. A server asks this every few seconds, so records that would have to look at each entry
    /// cannot tell.
    ///
    /// - Parameters:
    ///   - client: the client's number in the entries.
    ///   - top: a folder that is not counted, nor are those above it.
    ///   - made: folders and links that the caller counts.
    /// - Returns: also those of `made` that are not there any more; nil if the entries have to be counted with `forEachEntryByPath`.
    func use(
        of client: UInt64, below top: RelativePath?, besides made: Set<RelativePath>
    ) throws(RecordsError) -> (use: StoredUse, gone: Set<RelativePath>)?

    /// The number and size of acknowledged uploads in each state.
    func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals]

    /// The number of acknowledged uploads.
    func count() throws(RecordsError) -> Int

    /// - Returns: all receipts that share a signature with the receipt of this number; nil for an unknown number.
    func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts?

    /// A number above those of all receipts that were issued while the records could be written.
    var receiptNumber: UInt64 { get throws(RecordsError) }

    /// Stores a number that is above those of all receipts. When this returns, it is as durable as the records are.
    func keep(receiptNumber: UInt64) throws(RecordsError)

    /// Whether any file is known to be rotten.
    func hasRotten() throws(RecordsError) -> Bool

    /// The mark of a rotten file; nil for a file that is not known to be rotten.
    func rotten(_ file: ContentVersion) throws(RecordsError) -> RottenFile?

    /// Marks files that were read and are not what was acknowledged.
    func add(rotten files: [RottenFile]) throws(RecordsError)

    /// Removes the marks of files that are sound.
    func removeRotten(_ files: [ContentVersion]) throws(RecordsError)

    /// The recorded home of the directory; nil before the first one is recorded.
    func home() throws(RecordsError) -> KnownHome?

    /// Records the home of the directory, and marks its rotten files.
    ///
    /// - Parameters:
    ///   - rotten: marks to add to the existing ones.
    ///   - voidsOthers: whether the existing marks are removed.
    func keep(_ home: KnownHome, rotten: [RottenFile], voidsOthers: Bool) throws(RecordsError)

    /// The marks of rotten files, each with the paths that uploads have for the file.
    func rottenPaths() throws(RecordsError) -> [(path: String, file: RottenFile)]

    /// The next paths of uploads after `last`, in the order of their bytes; empty at the end.
    func paths(after last: [UInt8]) throws(RecordsError) -> (paths: [String], end: [UInt8])

    /// The number of paths that uploads have.
    func pathCount() throws(RecordsError) -> Int

    /// Records the new versions of adopted files, so that their acknowledgements hold.
    func adopt(_ adoptions: Adoptions) throws(RecordsError)

    /// Records that all files of a copied directory are adopted.
    func endAdoption() throws(RecordsError)

    /// Writes what is not written yet and closes the records, so that another server may use them.
    func close() throws(RecordsError)
}

extension UploadRecords {
    package func use(
        of client: UInt64, below top: RelativePath?, besides made: Set<RelativePath>
    ) throws(RecordsError) -> (use: StoredUse, gone: Set<RelativePath>)? { nil }
}

/// What the stored files of one client take, of which its quota is the limit.
package struct StoredUse: Equatable, Sendable {
    /// The number of files that the client has sent and that are still there.
    package var files: UInt64 = 0

    /// The sum of their sizes: holes count.
    package var bytes: UInt64 = 0

    /// The number of the client's acknowledged uploads that these files have; at least one for each file.
    package var entries: UInt64 = 0

    /// Bytes of the paths of these uploads.
    package var pathBytes: UInt64 = 0

    /// The number of folders that the files are in, directly or not.
    package var folders: UInt64 = 0

    package init() {}
}

/// Records that were damaged and replaced by new ones.
package struct RecordsDamage: Sendable {
    package let error: RecordsError

    /// Where the damaged records are now; nil if they could not be moved, so that there are no new ones.
    package let movedTo: String?

    package init(error: RecordsError, movedTo: String?) { (self.error, self.movedTo) = (error, movedTo) }
}

extension UploadRecords {
    package func entries(
        for ids: [UploadID], publishingAt paths: [RelativePath]
    ) throws(RecordsError) -> (entries: [CatalogEntry?], seen: (any SeenPaths)?) {
        (try entries(for: ids), nil)
    }
}
