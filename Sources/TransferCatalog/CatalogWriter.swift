internal import TransferProtocol

/// The connection that writes, with its prepared statements.
///
/// `@unchecked Sendable`: only used with the lock of its `Catalog` held.
final class CatalogWriter: @unchecked Sendable {
    let database: Database
    private let begin: Statement
    private let commit: Statement
    private let upsert: Statement
    private let upsertUnfinished: Statement
    private let delete: Statement
    private let upsertReceipt: Statement

    /// - Parameter database: with today's tables.
    init(_ database: Database) throws(CatalogError) {
        self.database = database
        begin = try Statement("BEGIN IMMEDIATE", in: database)
        commit = try Statement("COMMIT", in: database, kind: .commit)
        upsert = try Statement(CatalogColumns.upsert, in: database)
        upsertUnfinished = try Statement(CatalogColumns.upsertUnfinished, in: database)
        upsertReceipt = try Statement(
            "INSERT OR REPLACE INTO receipts (upload, receipt) SELECT number, ?2 FROM uploads WHERE id = ?1", in: database)
        delete = try Statement("DELETE FROM uploads WHERE id = ?1", in: database)
    }

    func isEmpty() throws(CatalogError) -> Bool {
        try database.execute("SELECT 1 FROM uploads LIMIT 1") == nil
    }

    /// Writes all or none, over whatever has their ids.
    func write(_ batches: [CatalogBatch]) throws(CatalogError) {
        try transaction { () throws(CatalogError) in
            for batch in batches {
                for entry in batch.entries {
                    try CatalogColumns.run(upsert, entry)
                    if let receipt = entry.receipt { try write(receipt, of: entry.id) }
                }
            }
        }
    }

    private func write(_ receipt: [UInt8], of id: UploadID) throws(CatalogError) {
        try id.withBytes { (id) throws(CatalogError) in
            upsertReceipt.bind(1, blob: id)
            try receipt.span.bytes.withUnsafeBytes { (receipt) throws(CatalogError) in
                upsertReceipt.bind(2, blob: receipt)
                try upsertReceipt.run()
            }
        }
    }

    func writeUnfinished(_ entry: CatalogEntry) throws(CatalogError) {
        try transaction { () throws(CatalogError) in try CatalogColumns.run(upsertUnfinished, entry) }
    }

    /// Deletes all or none; ids that aren't there are no failure.
    func delete(_ ids: [UploadID]) throws(CatalogError) {
        try transaction { () throws(CatalogError) in
            for id in ids { try delete(id) }
        }
    }

    private func delete(_ id: UploadID) throws(CatalogError) {
        try id.withBytes { (bytes) throws(CatalogError) in
            delete.bind(1, blob: bytes)
            try delete.run()
        }
    }

    private func transaction(_ body: () throws(CatalogError) -> Void) throws(CatalogError) {
        try begin.run()
        do throws(CatalogError) {
            try body()
            try commit.run()
        } catch {
            // Some failures have rolled back already. When this one fails too, the connection has to go.
            if database.isInTransaction { _ = try? database.execute("ROLLBACK") }
            throw error
        }
    }
}
