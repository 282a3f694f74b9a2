import TransferDatabase
internal import TransferModel
import TransferPorts

/// The connection that writes, with its prepared statements.
///
/// `@unchecked Sendable`: only used while the lock of `CatalogConnections` or `PathOwners` is held.
final class CatalogWriter: @unchecked Sendable {
    let database: Database
    private let begin: Statement
    private let commit: Statement
    private let arrive: Statement
    private let arrivals: Statement
    private let foldPath: Statement
    private let hasMany: Statement
    private let sign: Statement
    private let dropArrivals: Statement
    private let insert: Statement
    private let upsert: Statement
    private let insertUnfinished: Statement
    private let delete: Statement
    private let deleteUnfinished: Statement
    private let deleteEnded: Statement
    private let anyRotten: Statement
    private let isDurable: Bool
    /// Whether transactions are synced now.
    private var syncs: Bool

    /// - Parameters:
    ///   - database: a database with the current tables. Its transactions are synced at first if the catalog is
    ///     durable.
    ///   - isDurable: whether what is recorded has to survive a crash of the machine.
    init(_ database: Database, isDurable: Bool = true) throws(RecordsError) {
        self.database = database
        self.isDurable = isDurable
        syncs = isDurable
        begin = try Statement("BEGIN IMMEDIATE", in: database)
        commit = try Statement("COMMIT", in: database, kind: .commit)
        arrive = try Statement("INSERT INTO arrivals (entries) VALUES (?1)", in: database)
        sign = try Statement(KeptReceipts.insert, in: database)
        arrivals = try Statement(
            "SELECT number, entries FROM arrivals WHERE number <= ?1 ORDER BY number", in: database)
        dropArrivals = try Statement("DELETE FROM arrivals WHERE number <= ?1", in: database)
        foldPath = try Statement(Self.foldPath, in: database)
        hasMany = try Statement(
            "SELECT 1 FROM uploads WHERE path = ?1 LIMIT 1 OFFSET \(Catalog.mostOfPath)", in: database)
        insert = try Statement(CatalogColumns.insert, in: database)
        upsert = try Statement(CatalogColumns.upsert, in: database)
        insertUnfinished = try Statement(UnfinishedUpload.insert, in: database)
        delete = try Statement("DELETE FROM uploads WHERE id = ?1", in: database)
        deleteUnfinished = try Statement("DELETE FROM unfinished WHERE id = ?1", in: database)
        deleteEnded = try Statement("DELETE FROM unfinished WHERE id = ?1 AND begun <= ?2", in: database)
        anyRotten = try Statement(RottenFile.any, in: database)
    }

    func isEmpty() throws(RecordsError) -> Bool {
        try database.execute("SELECT 1 FROM uploads LIMIT 1") == nil
    }

    /// Appends batches to the table of arrivals, all or none.
    ///
    /// - Returns: whether any file is known to be rotten; true if that cannot be read.
    @discardableResult
    func append(_ batches: [CatalogBatch]) throws(RecordsError) -> Bool {
        var hasRotten = true
        try transaction { () throws(RecordsError) in
            for batch in batches {
                let bytes = batch.bytes
                try bytes.span.bytes.withUnsafeBytes { (bytes) throws(RecordsError) in
                    arrive.bind(1, blob: bytes)
                    try arrive.run()
                }
                try batch.receipts?.write(sign)
            }
            // The batches are recorded, even if this fails.
            hasRotten = (try? mayHaveRotten()) ?? true
        }
        return hasRotten
    }

    private func mayHaveRotten() throws(RecordsError) -> Bool {
        defer { anyRotten.reset() }
        return try anyRotten.next()
    }

    /// The number of the newest batch of arrivals; nil if all are indexed.
    func lastArrival() throws(RecordsError) -> Int64? {
        try database.execute("SELECT number FROM arrivals ORDER BY number DESC LIMIT 1")
    }

    /// Moves all arrivals to the table of uploads.
    func index() throws(RecordsError) {
        guard let last = try lastArrival() else { return }
        while try indexSome(upTo: last) {}
    }

    /// Moves some arrivals to the table of uploads, where they replace rows with the same ids, and deletes these
    /// uploads from the table of unfinished ones. No sync is needed: if a power cut undoes this transaction, the
    /// arrivals are still in their table.
    ///
    /// - Parameter last: the number of the last batch that is moved.
    /// - Returns: whether there may be more.
    func indexSome(upTo last: Int64) throws(RecordsError) -> Bool {
        var isMore = false
        try transaction(isSynced: false) { () throws(RecordsError) in
            let (entries, end) = try arrived(upTo: last)
            guard let end else { return }
            try enter(entries)
            dropArrivals.bind(1, end)
            try dropArrivals.run()
            isMore = end < last
        }
        return isMore
    }

    /// Reads the first batches of arrivals.
    ///
    /// - Returns: the entries of these batches, and the number of the last batch; nil if no batch is left.
    private func arrived(upTo last: Int64) throws(RecordsError) -> (entries: [CatalogEntry], end: Int64?) {
        defer { arrivals.reset() }
        arrivals.bind(1, last)
        var (entries, end): ([CatalogEntry], Int64?) = ([], nil)
        while entries.count < Catalog.rowsAtOnce, try arrivals.next() {
            entries += arrivals.withBlob(1, CatalogRecord.decode)
            end = arrivals.integer(0)
        }
        return (entries, end)
    }

    private func enter(_ entries: [CatalogEntry]) throws(RecordsError) {
        let hasUnfinished = try database.execute("SELECT 1 FROM unfinished LIMIT 1") != nil
        let noted = try newestNoted()
        var number = try noted.map { (noted) throws(RecordsError) in try numberBehind(noted) }
        let numbered = number == nil ? nil : try Statement(CatalogColumns.numberedUpsert, in: database)
        let keep = number == nil ? nil : try Statement(CatalogColumns.keepOther, in: database)
        for entry in entries {
            if let keep { try CatalogColumns.keepOther(keep, entry) }
            if let numbered, let next = number {
                numbered.bind(CatalogColumns.numberParameter, next)
                number = try following(next)
                try CatalogColumns.run(numbered, entry)
            } else {
                try write(entry)
            }
            if hasUnfinished { try end(entry) }
            try self.keep(entry)
        }
        // Older rows stay while there are notes: a file whose move is noted still has its entries under the old path.
        var room = Catalog.rowsAtOnce + entries.count
        for path in Set(entries.lazy.map { PathKey($0.path) }) where room > 0 {
            room -= try fold(path.string, behind: noted ?? .min, atMost: room)
        }
    }

    /// Inserts the row of an entry, or replaces the row that has the same id. Most ids are new, so the insertion is
    /// tried first.
    private func write(_ entry: CatalogEntry) throws(RecordsError) {
        let before = database.totalChanges
        try CatalogColumns.run(insert, entry)
        if database.totalChanges == before { try CatalogColumns.run(upsert, entry) }
    }

    /// Forgets entries of a path except for the newest ones of each state.
    ///
    /// - Parameters:
    ///   - first: rows up to and including this number are kept.
    ///   - last: rows above this number are ignored.
    ///   - most: the most rows of each state to forget.
    /// - Returns: the number of deleted rows, including rows that triggers delete.
    func fold(
        _ path: String, behind first: Int64, upTo last: Int64 = .max, atMost most: Int
    ) throws(RecordsError) -> Int {
        guard try hasMany(path) else { return 0 }
        let before = database.totalChanges
        foldPath.bind(3, first)
        foldPath.bind(4, last)
        foldPath.bind(5, Int64(most))
        for state in CatalogEntry.State.allCases {
            foldPath.bind(2, state.rawValue)
            try run(foldPath, path)
        }
        return database.totalChanges - before
    }

    /// Whether a path may have so many rows that some can be forgotten. The index answers this quickly, and nearly
    /// always with no.
    private func hasMany(_ path: String) throws(RecordsError) -> Bool {
        defer { hasMany.reset() }
        return try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            hasMany.bind(1, text: path)
            return try hasMany.next()
        }
    }

    /// The index has the rows of one path and state in the order of their numbers, so the oldest ones are found without
    /// sorting.
    private static let foldPath = """
        DELETE FROM uploads WHERE number IN (
            SELECT number FROM uploads WHERE path = ?1 AND state = ?2 AND number > ?3 AND number <= ?4
            ORDER BY number DESC LIMIT ?5 OFFSET \(Catalog.mostOfPath))
        """

    /// The largest `newest` of the open notes: the number of the last row of uploads when they were written. Nil if no
    /// notes are open.
    func newestNoted() throws(RecordsError) -> Int64? {
        try database.execute("SELECT newest FROM intended ORDER BY newest DESC LIMIT 1")
    }

    /// The first number for uploads that arrive while notes of changes are open. It is above the numbers of all rows
    /// that the notes concern (`NotedChanges.newest`). If SQLite chose the number, it could reuse that of a removed
    /// row, and a repeated upload would keep the number of the old row.
    private func numberBehind(_ newest: Int64) throws(RecordsError) -> Int64 {
        try following(max(newest, try database.execute("SELECT max(number) FROM uploads") ?? 0))
    }

    private func following(_ number: Int64) throws(RecordsError) -> Int64 {
        let (next, overflow) = number.addingReportingOverflow(1)
        guard !overflow else { throw RecordsError(.failed, "The catalog has used up its numbers for uploads.") }
        return next
    }

    /// Removes the upload from the unfinished ones, unless it has begun again after this acknowledgement because its
    /// file is gone.
    private func end(_ entry: CatalogEntry) throws(RecordsError) {
        deleteEnded.bind(2, entry.committed)
        try run(deleteEnded, entry.id)
    }

    /// Writes unfinished uploads in place of earlier declarations of them, and deletes those with the given ids. The
    /// next transaction that is synced makes this durable; no acknowledgement depends on it.
    func writeUnfinished(_ uploads: [UnfinishedUpload], deleting ids: [UploadID] = []) throws(RecordsError) {
        try transaction(isSynced: false) { () throws(RecordsError) in
            for upload in uploads { try upload.write(insertUnfinished) }
            for id in ids { try run(deleteUnfinished, id) }
        }
    }

    /// Deletes all of these uploads or none. Unknown ids are not an error.
    func delete(_ ids: [UploadID]) throws(RecordsError) {
        try transaction { () throws(RecordsError) in
            for id in ids { try run(delete, id) }
        }
    }

    /// Stores a number above those of all receipts, in place of the stored number.
    func keep(number: Int64) throws(RecordsError) {
        try transaction { () throws(RecordsError) in
            try database.execute("DELETE FROM numbers")
            try database.execute("INSERT INTO numbers (kept) VALUES (\(number))")
        }
    }

    private func run(_ statement: Statement, _ id: UploadID) throws(RecordsError) {
        try id.withBytes { (bytes) throws(RecordsError) in
            statement.bind(1, blob: bytes)
            try statement.run()
        }
    }

    func transaction(
        isSynced: Bool = true, _ body: () throws(RecordsError) -> Void
    ) throws(RecordsError) {
        try sync(isSynced && isDurable)
        try begin.run()
        let before = database.totalChanges
        do throws(RecordsError) {
            try body()
            try commit.run()
            database.calls.committed?(syncs)
            database.calls.changed?(database.totalChanges - before)
        } catch {
            // Some failures have rolled back already. If this rollback fails too, the connection has to be closed.
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }

    /// The file stays consistent even if not every transaction is synced (sqlite.org/pragma.html#pragma_synchronous).
    private func sync(_ wanted: Bool) throws(RecordsError) {
        guard isDurable, wanted != syncs else { return }
        try database.execute("PRAGMA synchronous = \(wanted ? "FULL" : "NORMAL")")
        syncs = wanted
    }
}
