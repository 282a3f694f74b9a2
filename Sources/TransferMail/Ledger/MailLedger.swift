package import TransferDatabase
import TransferModel
import TransferSystem

/// What waits for whom, and what became of it: a database beside the catalog. What it says is part of what is acknowledged,
/// so it is never replaced when it is damaged. Synchronous and safe to call from any thread.
package final class MailLedger: Sendable {
    private struct State {
        var connection: MailConnection?
        /// Of what is open.
        var totals = MailTotals()
    }

    /// The name of the database in the server's own folder.
    package static let fileName = "mail.sqlite"

    /// KiB of pages that the connection keeps.
    private static let cacheSize = 4096

    /// Bytes up to which all of the file is looked through at the start.
    private static let wholeCheckSize: Int64 = 64 << 20

    private let state = Locked(State())
    private let file: DatabaseFile

    /// Opens it, made where it is missing.
    ///
    /// - Parameters:
    ///   - path: of the database; its directory must exist.
    ///   - isDurable: whether what it says has to survive a crash of the machine.
    package init(path: String, isDurable: Bool, calls: DatabaseCalls = DatabaseCalls()) throws(DatabaseError) {
        file = DatabaseFile(path: path, called: MailSchema.name, isDurable: isDurable, calls: calls)
        try state.withLock { [file] (state) throws(DatabaseError) in
            let connection = try Self.connect(&state, file)
            try file.validate(connection.database, wholeCheckSize: Self.wholeCheckSize)
        }
    }

    /// What is found may have been written by somebody who was killed, or who was told that it cannot be synced. So it is
    /// written and synced anew before anything is said of it.
    private static func connect(_ state: inout State, _ file: DatabaseFile) throws(DatabaseError) -> MailConnection {
        if let connection = state.connection { return connection }
        let database = try file.open(cacheSize: cacheSize)
        try MailSchema.schema.migrate(database)
        guard try database.execute("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
            throw DatabaseError(.busy, "Another program holds the \(MailSchema.name).")
        }
        let connection = try MailConnection(database)
        state.totals = try connection.totals()
        state.connection = connection
        return connection
    }

    /// Closes it until somebody wants something of it again.
    package func close() {
        state.withLock { $0.connection = nil }
    }

    func read<T: Sendable>(_ body: (MailConnection) throws(DatabaseError) -> T) throws(DatabaseError) -> T {
        try state.withLock { [file] (state) throws(DatabaseError) in
            try Self.attempt(&state, file) { (connection, _) throws(DatabaseError) in try body(connection) }
        }
    }

    /// Runs `body` in a transaction: all of it is done, as durable as the ledger is, or nothing.
    ///
    /// - Parameters:
    ///   - isSynced: whether anything that is promised depends on it.
    ///   - body: changes the totals, too, which count when it is committed.
    func write<T: Sendable>(
        isSynced: Bool = true, _ body: (MailConnection, inout MailTotals) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> T {
        try state.withLock { [file] (state) throws(DatabaseError) in
            try Self.attempt(&state, file) { (connection, totals) throws(DatabaseError) in
                var changed = totals
                let result = try connection.transaction(isSynced: isSynced || !file.isDurable) {
                    () throws(DatabaseError) in try body(connection, &changed)
                }
                totals = changed
                return result
            }
        }
    }

    /// A connection that has failed is closed: whether the last transaction counts is only known when the file is opened again.
    private static func attempt<T>(
        _ state: inout State, _ file: DatabaseFile,
        _ body: (MailConnection, inout MailTotals) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> T {
        let connection = try connect(&state, file)
        do throws(DatabaseError) {
            return try body(connection, &state.totals)
        } catch {
            state.connection = nil
            throw error
        }
    }

    /// What waits for one person, or for all.
    package func waiting(for recipient: String? = nil) -> (count: Int, bytes: UInt64) {
        state.withLock { state in
            let total = recipient.map(state.totals.total) ?? state.totals.all
            return (total.count, total.bytes)
        }
    }

    /// Whether one more delivery has a place.
    func refusal(_ size: UInt64, from sender: String, to recipient: String, _ limits: MailLimits) -> MailRefusal? {
        state.withLock { $0.totals.refusal(size, from: sender, to: recipient, limits) }
    }
}
