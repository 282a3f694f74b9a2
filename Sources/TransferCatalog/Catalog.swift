import Synchronization
package import TransferDatabase
package import TransferModel
package import TransferPorts
import TransferSystem

/// What the server remembers of uploads across restarts: a database beside the stored files. The stored files never
/// depend on it. Synchronous and safe to call from any thread; called on the blocking pool.
///
/// If the file cannot be opened at first, each later call tries again, at most once per second. A damaged file is moved
/// aside, and a new file is created.
package final class Catalog: UploadRecords {
    /// The name of the database in the server's own folder.
    package static let fileName = "catalog.sqlite"

    /// The path of the database in a server's directory.
    package static func path(in directory: String) -> String { "\(directory)/\(RelativePath.reservedName)/\(fileName)" }

    /// The name of the catalog in messages.
    static let name = "catalog"

    /// The most arrivals that may wait to be indexed, and their most bytes, because paths may be long.
    static let mostArrivals = (count: 16_384, bytes: 8 << 20)

    /// The number of acknowledgements that are kept for each path and state, the newest ones: no query about a path
    /// reads more. Older ones are forgotten when newer ones are indexed.
    package static let mostOfPath = 64

    /// Rows that one transaction changes, which limits how long it holds the writer's lock (docs/reference/limits.md
    /// has the times). A transaction may change a few more, to complete a change or a batch of arrivals that it has
    /// begun.
    package static let rowsAtOnce = 256

    /// Whether the catalog was empty when it was opened.
    package let wasEmpty: Bool

    /// Why the catalog could not be opened at first; nil if it could.
    package let fault: RecordsError?

    let connections: CatalogConnections

    /// Batches that have to be recorded. The first thread that gets the writer's lock records all of them, because
    /// every transaction costs a sync, however little it writes.
    private let waiting = Locked([CatalogBatch]())

    /// - Parameters:
    ///   - path: the path of the database; its directory must exist.
    ///   - isDurable: whether what is recorded has to survive a crash of the machine.
    ///   - report: called if the file is damaged, on any thread; must not call the catalog.
    package convenience init(path: String, isDurable: Bool, report: @escaping @Sendable (RecordsDamage) -> Void) {
        self.init(CatalogConnections(CatalogFile(path: path, isDurable: isDurable, calls: DatabaseCalls()), report))
    }

    /// Opens a catalog whose calls a test can make fail.
    ///
    /// - Parameters:
    ///   - path: the same as above, and so are `isDurable` and `report`.
    ///   - calls: functions that are called before SQLite.
    ///   - retryInterval: nanoseconds after which the catalog tries again to open a file that could not be opened.
    package convenience init(
        path: String, isDurable: Bool, calls: DatabaseCalls, retryInterval: Int64,
        report: @escaping @Sendable (RecordsDamage) -> Void
    ) {
        let file = CatalogFile(path: path, isDurable: isDurable, calls: calls)
        self.init(CatalogConnections(file, retryInterval: retryInterval, report))
    }

    /// Renames a damaged database. No program may have it open.
    ///
    /// - Returns: the new path.
    package static func moveAside(path: String) throws(RecordsError) -> String {
        do throws(SystemError) {
            return try CatalogFile(path: path, isDurable: true, calls: DatabaseCalls()).moveAside()
        } catch {
            throw RecordsError(.unavailable, "The catalog cannot be moved: \(error.reason).")
        }
    }

    init(_ connections: CatalogConnections) {
        self.connections = connections
        do throws(RecordsError) {
            (wasEmpty, fault) = (try connections.open(), nil)
        } catch {
            (wasEmpty, fault) = (false, error)
        }
    }

    /// Records uploads, all of them or none, and replaces earlier entries with their ids. When this returns, they are
    /// as durable as the catalog is.
    ///
    /// - Parameter receipts: the batch of receipts whose numbers the entries have, from the first to the last.
    /// - Returns: whether any file is known to be rotten. A separate query for this would double the number of system
    ///   calls.
    @discardableResult
    package func record(_ entries: [CatalogEntry], with receipts: SignedBatch? = nil) throws(RecordsError) -> Bool {
        guard !entries.isEmpty else { return false }
        let own = CatalogBatch(entries, receipts: receipts)
        waiting.withLock { $0.append(own) }
        // If recording fails, this batch no longer waits; the threads of the other batches try themselves.
        defer { waiting.withLock { $0.removeAll { $0 === own } } }
        try connections.write { (writer) throws(RecordsError) in
            let batches = waiting.withLock { $0 }
            guard batches.contains(where: { $0 === own }) else { return }
            let hasRotten = try writer.append(batches)
            for batch in batches {
                batch.sawRotten.store(hasRotten, ordering: .relaxed)
                connections.arrivals.add(batch.entries, bytes: batch.bytes.count)
            }
            waiting.withLock { $0.removeAll { batch in batches.contains { $0 === batch } } }
        }
        // The entries are recorded, even if indexing fails.
        let arrivals = connections.arrivals
        if arrivals.count >= Self.mostArrivals.count || arrivals.bytes >= Self.mostArrivals.bytes { try? index() }
        return own.sawRotten.load(ordering: .relaxed)
    }

    /// Moves recorded entries from the table of arrivals to the table of uploads. Recording itself is much cheaper.
    /// This is called when no client waits, and by `record` when `mostArrivals` is reached. Entries that arrive during
    /// the call may stay unindexed.
    package func index() throws(RecordsError) {
        var (last, end): (Int64?, Int) = (nil, 0)
        try connections.write { (writer) throws(RecordsError) in
            (last, end) = (try writer.lastArrival(), connections.arrivals.end)
            if last == nil { connections.arrivals.remove(before: end) }
        }
        guard let last else { return }
        var isMore = true
        while isMore {
            try connections.writeStep { (writer) throws(RecordsError) in
                isMore = try writer.indexSome(upTo: last)
                if !isMore { connections.arrivals.remove(before: end) }
            }
        }
    }

    /// Indexes what is left and closes the file, so that another server may open it.
    package func close() throws(RecordsError) {
        defer { connections.close() }
        try index()
    }

    /// Releases the file as a killed process does: nothing is indexed, and data that is not synced may be lost. The
    /// simulator calls this when a server dies.
    package func abandon() { connections.abandon() }

    /// Records uploads that have begun, and replaces earlier declarations of the same uploads. Forgets the unfinished
    /// uploads in `given`. Acknowledged uploads are not affected.
    ///
    /// The changes survive the end of the process. They survive a crash of the machine only once a later change is
    /// recorded, so they cost no sync.
    ///
    /// - Parameter given: ids of uploads that will not be finished.
    package func recordUnfinished(
        _ uploads: [UnfinishedUpload], forgetting given: [UploadID] = []
    ) throws(RecordsError) {
        for some in uploads.chunks(of: Self.rowsAtOnce) {
            try connections.writeStep { (writer) throws(RecordsError) in try writer.writeUnfinished(Array(some)) }
        }
        for some in given.chunks(of: Self.rowsAtOnce) {
            try connections.writeStep { (writer) throws(RecordsError) in
                try writer.writeUnfinished([], deleting: Array(some))
            }
        }
    }

    /// The uploads that have begun and were neither acknowledged nor forgotten, the oldest first. Rows that cannot be
    /// read are left out.
    package func unfinished() throws(RecordsError) -> [UnfinishedUpload] {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.unfinished() }
    }

    /// Forgets uploads, in steps: if a step fails, the uploads of later steps stay. Unknown ids are not an error.
    package func remove(_ ids: [UploadID]) throws(RecordsError) {
        guard !ids.isEmpty else { return }
        try index()
        for some in ids.chunks(of: Self.rowsAtOnce) {
            try connections.writeStep { (writer) throws(RecordsError) in try writer.delete(Array(some)) }
        }
    }

    /// The indexed entries of each path, in no order: for each state, the newest `mostOfPath` ones.
    package func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]] {
        try connections.read { (reader) throws(RecordsError) in try reader.entries(at: paths) }
    }

    /// The indexed entries that have stored a file under a path: the newest `mostOfPath`, in no order.
    package func stored(at path: String) throws(RecordsError) -> [CatalogEntry] {
        try connections.read { (reader) throws(RecordsError) in try reader.stored(at: path) }
    }

    /// A page of the indexed uploads of the files in one folder: for each file and state, the newest `mostOfPath` ones.
    ///
    /// - Parameter start: `next` of the page before, or the prefix of the query for the first page.
    package func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        try connections.read { (reader) throws(RecordsError) in try reader.files(query, after: start) }
    }

    /// Whether there are recorded entries that `entries(at:)` doesn't find, because they are not indexed yet.
    package var hasUnindexed: Bool { connections.arrivals.count > 0 }

    /// - Returns: one element for each id, in the order of the ids; nil for an unknown id.
    package func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?] {
        var found = ids.map(connections.arrivals.find)
        let others = found.indices.filter { found[$0] == nil }
        guard !others.isEmpty else { return found }
        let read = try connections.read { (reader) throws(RecordsError) in
            try reader.entries(for: others.map { ids[$0] })
        }
        for (index, entry) in zip(others, read) { found[index] = entry }
        return found
    }

    /// - Returns: all receipts that share a signature with this one; nil for an unknown number.
    package func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts? {
        try connections.read { (reader) throws(RecordsError) in try reader.receipts(with: number) }
    }

    /// Calls `body` with all acknowledged uploads, in the order in which they were recorded. Uploads that are recorded
    /// during the call may be left out. No lock is held while `body` runs.
    ///
    /// - Returns: the number of entries that could not be read.
    @discardableResult
    package func forEachEntry(_ body: (CatalogEntry) -> Void) throws(RecordsError) -> Int {
        try index()
        var (last, unreadable): (Int64, Int) = (0, 0)
        while true {
            let rows = try connections.read { [last] (reader) throws(RecordsError) in try reader.rows(after: last) }
            guard let end = rows.last?.number else { return unreadable }
            last = end
            for row in rows {
                if let entry = row.entry { body(entry) } else { unreadable += 1 }
            }
        }
    }

    /// Calls `body` with all acknowledged uploads, in the order of their paths' bytes. Uploads that are recorded during
    /// the call may be left out. No lock is held while `body` runs.
    package func forEachEntryByPath(_ body: (CatalogEntry) -> Void) throws(RecordsError) {
        try index()
        var place = CatalogReader.Place.start
        while true {
            let page = try connections.read { [place] (reader) throws(RecordsError) in
                try reader.rows(behind: place)
            }
            guard let end = page.end else { return }
            place = end
            for entry in page.entries { body(entry) }
        }
    }

    /// The number and size of acknowledged uploads in each state. Reads all rows: 0.2 s of a core for a million
    /// uploads.
    package func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals] {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.totals() }
    }

    /// The number of acknowledged uploads: 10 ms of a core for a million.
    package func count() throws(RecordsError) -> Int {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.count() }
    }

    /// The number that `keep(receiptNumber:)` stored last, or 0. It is above the numbers of all receipts that were
    /// issued while the catalog could be written.
    package var receiptNumber: UInt64 {
        get throws(RecordsError) {
            let kept = try connections.read { (reader) throws(RecordsError) in
                try reader.database.execute("SELECT max(kept) FROM numbers")
            }
            return kept.flatMap { UInt64(exactly: $0) } ?? 0
        }
    }

    /// Stores a number that is above those of all issued receipts. When this returns, the number is as durable as the
    /// catalog is.
    package func keep(receiptNumber: UInt64) throws(RecordsError) {
        try connections.write { (writer) throws(RecordsError) in
            try writer.keep(number: Int64(clamping: receiptNumber))
        }
    }
}

extension Array {
    /// Splits the array into slices, in order.
    ///
    /// - Parameter count: the size of each slice, at least 1; the last one may be shorter.
    func chunks(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
