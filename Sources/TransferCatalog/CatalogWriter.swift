import TransferDatabase
internal import TransferModel

/// The connection that writes, with its prepared statements.
///
/// `@unchecked Sendable`: only used with the lock of its `Catalog` held.
final class CatalogWriter: @unchecked Sendable {
    let database: Database
    private let begin: Statement
    private let commit: Statement
    private let arrive: Statement
    private let arrivals: Statement
    private let sign: Statement
    private let dropArrivals: Statement
    private let upsert: Statement
    private let insertUnfinished: Statement
    private let delete: Statement
    private let deleteUnfinished: Statement
    private let deleteEnded: Statement
    private let deletePath: Statement
    private let anyRotten: Statement
    private let isDurable: Bool
    /// Whether a transaction is synced now.
    private var syncs: Bool

    /// - Parameters:
    ///   - database: with today's tables, which syncs when it is durable.
    ///   - isDurable: whether what is recorded has to survive a crash of the machine.
    init(_ database: Database, isDurable: Bool = true) throws(DatabaseError) {
        self.database = database
        self.isDurable = isDurable
        syncs = isDurable
        begin = try Statement("BEGIN IMMEDIATE", in: database)
        commit = try Statement("COMMIT", in: database, kind: .commit)
        arrive = try Statement("INSERT INTO arrivals (entries) VALUES (?1)", in: database)
        sign = try Statement(KeptReceipts.insert, in: database)
        arrivals = try Statement("SELECT entries FROM arrivals ORDER BY number", in: database)
        dropArrivals = try Statement("DELETE FROM arrivals", in: database)
        upsert = try Statement(CatalogColumns.upsert, in: database)
        insertUnfinished = try Statement(UnfinishedUpload.insert, in: database)
        delete = try Statement("DELETE FROM uploads WHERE id = ?1", in: database)
        deleteUnfinished = try Statement("DELETE FROM unfinished WHERE id = ?1", in: database)
        deleteEnded = try Statement("DELETE FROM unfinished WHERE id = ?1 AND begun <= ?2", in: database)
        anyRotten = try Statement(RottenFile.any, in: database)
        deletePath = try Statement("DELETE FROM uploads WHERE path = ?1", in: database)
    }

    func isEmpty() throws(DatabaseError) -> Bool {
        try database.execute("SELECT 1 FROM uploads LIMIT 1") == nil
    }

    /// Writes all or none down as they came.
    ///
    /// - Returns: whether any file is known to be rotten, or that cannot be said.
    @discardableResult
    func append(_ batches: [CatalogBatch]) throws(DatabaseError) -> Bool {
        var hasRotten = true
        try transaction { () throws(DatabaseError) in
            for batch in batches {
                let bytes = batch.bytes
                try bytes.span.bytes.withUnsafeBytes { (bytes) throws(DatabaseError) in
                    arrive.bind(1, blob: bytes)
                    try arrive.run()
                }
                try batch.receipts?.write(sign)
            }
            // What was recorded is no worse for that.
            hasRotten = (try? mayHaveRotten()) ?? true
        }
        return hasRotten
    }

    private func mayHaveRotten() throws(DatabaseError) -> Bool {
        defer { anyRotten.reset() }
        return try anyRotten.next()
    }

    /// Moves what arrived to the table of uploads, over whatever has the same ids; it is unfinished no more.
    func settle() throws(DatabaseError) {
        guard try database.execute("SELECT 1 FROM arrivals LIMIT 1") != nil else { return }
        try transaction { () throws(DatabaseError) in
            defer { arrivals.reset() }
            let hasUnfinished = try database.execute("SELECT 1 FROM unfinished LIMIT 1") != nil
            var number = try numberBehindNotes()
            let upsert = number == nil ? upsert : try Statement(CatalogColumns.numberedUpsert, in: database)
            let keep = number == nil ? nil : try Statement(CatalogColumns.keepOther, in: database)
            while try arrivals.next() {
                for entry in arrivals.withBlob(0, CatalogRecord.decode) {
                    if let next = number {
                        upsert.bind(CatalogColumns.numberParameter, next)
                        number = try following(next)
                    }
                    if let keep { try CatalogColumns.keepOther(keep, entry) }
                    try CatalogColumns.run(upsert, entry)
                    if hasUnfinished { try end(entry) }
                }
            }
            arrivals.reset()
            try dropArrivals.run()
        }
    }

    /// The first number for uploads that arrive while notes of changes are open: above all that the notes are about
    /// (`NotedChanges.newest`). SQLite would use the number of a removed row again, and an upload that comes again keeps its own.
    ///
    /// - Returns: nil where no notes are open.
    private func numberBehindNotes() throws(DatabaseError) -> Int64? {
        let select = "SELECT newest FROM intended ORDER BY newest DESC LIMIT 1"
        guard let newest = try database.execute(select) else { return nil }
        return try following(max(newest, try database.execute("SELECT max(number) FROM uploads") ?? 0))
    }

    private func following(_ number: Int64) throws(DatabaseError) -> Int64 {
        let (next, overflow) = number.addingReportingOverflow(1)
        guard !overflow else { throw DatabaseError(.failed, "The catalog has no more numbers.") }
        return next
    }

    /// One that has begun after its acknowledgement, because the file is gone, stays unfinished.
    private func end(_ entry: CatalogEntry) throws(DatabaseError) {
        deleteEnded.bind(2, entry.committed)
        try run(deleteEnded, entry.id)
    }

    /// Writes uploads that are unfinished, over what was known of them as such, and deletes others. The next transaction that
    /// is synced makes it durable: nothing that was promised depends on it.
    func writeUnfinished(_ uploads: [UnfinishedUpload], deleting ids: [UploadID] = []) throws(DatabaseError) {
        try transaction(isSynced: false) { () throws(DatabaseError) in
            for upload in uploads { try upload.write(insertUnfinished) }
            for id in ids { try run(deleteUnfinished, id) }
        }
    }

    /// Deletes all or none; ids that aren't there are no failure.
    func delete(_ ids: [UploadID]) throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in
            for id in ids { try run(delete, id) }
        }
    }

    /// Deletes whatever was acknowledged under these paths, all or none.
    func delete(paths: [String]) throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in
            for path in paths {
                try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
                    deletePath.bind(1, text: path)
                    try deletePath.run()
                }
            }
        }
    }

    /// Keeps a number in place of the last one.
    func keep(number: Int64) throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in
            try database.execute("DELETE FROM numbers")
            try database.execute("INSERT INTO numbers (kept) VALUES (\(number))")
        }
    }

    private func run(_ statement: Statement, _ id: UploadID) throws(DatabaseError) {
        try id.withBytes { (bytes) throws(DatabaseError) in
            statement.bind(1, blob: bytes)
            try statement.run()
        }
    }

    func transaction(
        isSynced: Bool = true, _ body: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try sync(isSynced && isDurable)
        try begin.run()
        do throws(DatabaseError) {
            try body()
            try commit.run()
            database.calls.committed?(syncs)
        } catch {
            // Some failures have rolled back already. When this one fails too, the connection has to go.
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }

    /// Without syncing every transaction the file stays in order all the same (sqlite.org/pragma.html#pragma_synchronous).
    private func sync(_ wanted: Bool) throws(DatabaseError) {
        guard isDurable, wanted != syncs else { return }
        try database.execute("PRAGMA synchronous = \(wanted ? "FULL" : "NORMAL")")
        syncs = wanted
    }
}
