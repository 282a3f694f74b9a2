import Synchronization
package import TransferDatabase
package import TransferModel
package import TransferPorts
import TransferSystem

/// What the server remembers of uploads across its restarts: a database beside the stored files, which never depend on
/// it. Synchronous and safe to call from any thread; called on the blocking pool.
///
/// It opens by itself, at once or whenever that becomes possible. One that is damaged is moved aside, and a new one begun.
package final class Catalog: UploadRecords {
    /// The name of the database in the server's own folder.
    package static let fileName = "catalog.sqlite"

    /// Its path in a server's directory.
    package static func path(in directory: String) -> String { "\(directory)/\(RelativePath.reservedName)/\(fileName)" }

    /// What messages call it.
    static let name = "catalog"

    /// Arrivals that may wait to be indexed, and bytes of them: paths may be long.
    static let mostArrivals = (count: 16_384, bytes: 8 << 20)

    /// Acknowledgements of one path that are kept of each state, the newest ones: no question about a path reads more. Other
    /// ones are forgotten when newer ones are indexed.
    package static let mostOfPath = 64

    /// Rows that one transaction changes, which bounds how long it holds the writer's lock (docs/reference/limits.md has the times). A
    /// transaction completes the change or the batch of arrivals that it has begun.
    package static let rowsAtOnce = 256

    /// Whether it knew nothing when it was opened, so that all it knows came since.
    package let wasEmpty: Bool

    /// Why it could not be opened at first; nil when it could.
    package let fault: RecordsError?

    let connections: CatalogConnections

    /// What is to be recorded. Whoever comes first records it for all: a transaction costs a sync, whatever is in it.
    private let waiting = Locked([CatalogBatch]())

    /// - Parameters:
    ///   - path: of the database; its directory must exist.
    ///   - isDurable: whether what it records has to survive a crash of the machine.
    ///   - report: is told of damage, from any thread, and must not come back.
    package convenience init(path: String, isDurable: Bool, report: @escaping @Sendable (RecordsDamage) -> Void) {
        self.init(CatalogConnections(CatalogFile(path: path, isDurable: isDurable, calls: DatabaseCalls()), report))
    }

    /// Opens a catalog whose calls may fail when a test says so.
    ///
    /// - Parameters:
    ///   - path: as above, and so are `isDurable` and `report`.
    ///   - calls: what stands between it and SQLite.
    ///   - retryInterval: nanoseconds after which it tries again to open a file that could not be opened.
    package convenience init(
        path: String, isDurable: Bool, calls: DatabaseCalls, retryInterval: Int64,
        report: @escaping @Sendable (RecordsDamage) -> Void
    ) {
        let file = CatalogFile(path: path, isDurable: isDurable, calls: calls)
        self.init(CatalogConnections(file, retryInterval: retryInterval, report))
    }

    /// Gives a database another name, for whoever found it damaged. Nothing may have it open.
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

    /// Records uploads, all of them or none, over what it knew of their ids. When this returns they are as durable as it
    /// is.
    ///
    /// - Parameter receipts: whose numbers entries have, from the first of them to the last.
    /// - Returns: whether any file may be known to be rotten. Asked for by itself it would cost as many system calls again.
    @discardableResult
    package func record(_ entries: [CatalogEntry], with receipts: SignedBatch? = nil) throws(RecordsError) -> Bool {
        guard !entries.isEmpty else { return false }
        let own = CatalogBatch(entries, receipts: receipts)
        waiting.withLock { $0.append(own) }
        // What failed waits no longer; the others try for themselves.
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
        // These are recorded, whatever becomes of that.
        let arrivals = connections.arrivals
        if arrivals.count >= Self.mostArrivals.count || arrivals.bytes >= Self.mostArrivals.bytes { try? index() }
        return own.sawRotten.load(ordering: .relaxed)
    }

    /// Enters what was recorded in the table of uploads. Recording only writes it down, which is much cheaper; this is for
    /// idle moments, and `record` calls it when `mostArrivals` is reached. Entries that arrive during the call may stay unindexed.
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

    /// Brings everything in order and closes the file, so that another server may open it.
    package func close() throws(RecordsError) {
        defer { connections.close() }
        try index()
    }

    /// Lets go of the file as a process does that dies: nothing is brought in order, and what a sync has not covered may be lost. The
    /// simulator uses it when a server dies.
    package func abandon() { connections.abandon() }

    /// Records uploads that have begun, over what was known of them as unfinished, and forgets others that were. What was
    /// acknowledged stays as it is.
    ///
    /// It survives the process, and a crash of the machine once anything else was recorded behind it: so it costs no sync.
    ///
    /// - Parameter given: ids of those that will not be finished.
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

    /// The uploads that have begun and were neither acknowledged nor forgotten, the oldest first. Those that cannot be read are
    /// left out.
    package func unfinished() throws(RecordsError) -> [UnfinishedUpload] {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.unfinished() }
    }

    /// Forgets uploads, in steps: one that fails leaves the rest. IDs that it doesn't know are no failure.
    package func remove(_ ids: [UploadID]) throws(RecordsError) {
        guard !ids.isEmpty else { return }
        try index()
        for some in ids.chunks(of: Self.rowsAtOnce) {
            try connections.writeStep { (writer) throws(RecordsError) in try writer.delete(Array(some)) }
        }
    }

    /// What was acknowledged under each of these paths and has been indexed: of each state the newest `mostOfPath`, in no order.
    package func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]] {
        try connections.read { (reader) throws(RecordsError) in try reader.entries(at: paths) }
    }

    /// What has stored a file under a path, and has been indexed: the newest `mostOfPath`, in no order.
    package func stored(at path: String) throws(RecordsError) -> [CatalogEntry] {
        try connections.read { (reader) throws(RecordsError) in try reader.stored(at: path) }
    }

    /// Some of what was acknowledged for the files in one folder and has been indexed: of each the first 64 of each state.
    ///
    /// - Parameter start: where to go on, as the page before says; the query's prefix to begin.
    package func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        try connections.read { (reader) throws(RecordsError) in try reader.files(query, after: start) }
    }

    /// Whether anything was recorded that `entries(at:)` doesn't find before it is indexed.
    package var hasUnindexed: Bool { connections.arrivals.count > 0 }

    /// - Returns: one for each id, in their order; nothing for one that it doesn't know.
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

    /// - Returns: all receipts that one was signed with; nothing for a number that it doesn't know.
    package func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts? {
        try connections.read { (reader) throws(RecordsError) in try reader.receipts(with: number) }
    }

    /// Calls `body` with all acknowledged uploads that it knows, in the order in which they were recorded. Uploads that are recorded
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

    /// Calls `body` with all acknowledged uploads that it knows, in the order of their paths' bytes, all of one path together.
    /// Uploads that are recorded during the call may be left out. No lock is held while `body` runs.
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

    /// What was acknowledged, in each state. Reads all of it: 0.2 s of a core for a million uploads.
    package func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals] {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.totals() }
    }

    /// How many acknowledged uploads it knows: 10 ms of a core for a million.
    package func count() throws(RecordsError) -> Int {
        try index()
        return try connections.read { (reader) throws(RecordsError) in try reader.count() }
    }

    /// Above all numbers of receipts that were given, as long as it was there to keep that.
    package var receiptNumber: UInt64 {
        get throws(RecordsError) {
            let kept = try connections.read { (reader) throws(RecordsError) in
                try reader.database.execute("SELECT max(kept) FROM numbers")
            }
            return kept.flatMap { UInt64(exactly: $0) } ?? 0
        }
    }

    /// Keeps a number that is above all of receipts; it is as durable as the catalog is when this returns.
    package func keep(receiptNumber: UInt64) throws(RecordsError) {
        try connections.write { (writer) throws(RecordsError) in
            try writer.keep(number: Int64(clamping: receiptNumber))
        }
    }
}

extension Array {
    /// The elements in their order, some in each.
    ///
    /// - Parameter count: how many, at least 1; of the last ones perhaps fewer.
    func chunks(of count: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: self.count, by: count).map { self[$0..<Swift.min($0 + count, self.count)] }
    }
}
