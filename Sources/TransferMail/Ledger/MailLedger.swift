package import TransferDatabase
import TransferModel
import TransferSystem

/// What waits for whom, and what became of it: a database beside the catalog. What it says is part of what is acknowledged,
/// so it is never replaced when it is damaged. Synchronous and safe to call from any thread.
package final class MailLedger: Sendable {
    private struct State {
        var connection: MailConnection?
        /// Whether there is something in it, so that one that is missing was lost.
        var mustExist: Bool
        /// Whether the file was removed or replaced. Nothing is opened in its place: what SQLite keeps beside it belongs to the one
        /// that was there.
        var isReplaced = false
        /// Whether the server has stopped.
        var isClosed = false
        /// Of what is open.
        var totals = MailTotals()
    }

    /// The name of the database in the server's own folder.
    package static let fileName = "mail.sqlite"

    /// KiB of pages that the connection keeps.
    private static let cacheSize = 4096

    /// Bytes up to which all of the file is looked through at the start.
    private static let wholeCheckSize: Int64 = 64 << 20

    private let state: Locked<State>
    private let file: DatabaseFile
    private let clock: @Sendable () -> Int64

    /// Opens it, made where it is missing.
    ///
    /// - Parameters:
    ///   - path: of the database; its directory must exist.
    ///   - isDurable: whether what it says has to survive a crash of the machine.
    ///   - mustExist: whether there is content that only it knows the recipients of: then one that is missing or empty was lost,
    ///     and a new one would have that content removed.
    ///   - clock: nanoseconds of a clock that nobody sets.
    /// - Throws: `damaged` for one that was lost, too.
    package init(
        path: String, isDurable: Bool, mustExist: Bool = false, calls: DatabaseCalls = DatabaseCalls(),
        clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) throws(DatabaseError) {
        file = DatabaseFile(path: path, called: MailSchema.name, isDurable: isDurable, calls: calls)
        state = Locked(State(mustExist: mustExist))
        self.clock = clock
        try state.withLock { (state) throws(DatabaseError) in
            do throws(DatabaseError) {
                let connection = try connect(&state)
                try file.validate(connection.database, wholeCheckSize: Self.wholeCheckSize)
            } catch  where error.reason == .busy {
                // Another program reads it, perhaps one that makes a backup. Whoever wants something of it tries again.
            }
        }
    }

    /// What is found may have been written by somebody who was killed, or who was told that it cannot be synced. So it is
    /// written and synced anew before anything is said of it.
    private func connect(_ state: inout State) throws(DatabaseError) -> MailConnection {
        guard !state.isReplaced else { throw .replaced(file.path) }
        guard !state.isClosed else {
            throw DatabaseError(.unavailable, "The \(MailSchema.name) is closed: the server has stopped.")
        }
        if let connection = state.connection { return connection }
        let database = try file.open(cacheSize: Self.cacheSize, mustExist: state.mustExist)
        if state.mustExist { try MailSchema.schema.requireSome(database) }
        try MailSchema.schema.migrate(database)
        guard try database.execute("PRAGMA wal_checkpoint(TRUNCATE)") == 0 else {
            throw DatabaseError(.busy, "Another program holds the \(MailSchema.name).")
        }
        let connection = try MailConnection(database, clock)
        guard let number = file.number else { throw .replaced(file.path) }
        connection.file = number
        state.totals = try connection.totals()
        (state.connection, state.mustExist) = (connection, true)
        return connection
    }

    /// Closes the ledger for good: once the server has released the directory, another server may open it.
    package func close() {
        state.withLock { state in
            try? state.connection?.keepTime()
            (state.connection, state.isClosed) = (nil, true)
        }
    }

    func read<T: Sendable>(_ body: (MailConnection) throws(DatabaseError) -> T) throws(DatabaseError) -> T {
        try read { (connection, _) throws(DatabaseError) in try body(connection) }
    }

    func read<T: Sendable>(
        _ body: (MailConnection, MailTotals) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> T {
        try state.withLock { (state) throws(DatabaseError) in
            try attempt(&state) { (connection, totals) throws(DatabaseError) in try body(connection, totals) }
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
        try state.withLock { (state) throws(DatabaseError) in
            try attempt(&state) { (connection, totals) throws(DatabaseError) in
                guard file.number == connection.file else { throw .replaced(file.path) }
                var changed = totals
                let result = try connection.transaction(isSynced: isSynced || !file.isDurable) {
                    () throws(DatabaseError) in try body(connection, &changed)
                }
                // What was written to a file that has lost its name is lost when it is closed.
                guard file.number == connection.file else { throw .replaced(file.path) }
                totals = changed
                return result
            }
        }
    }

    /// A connection that has failed is closed: whether the last transaction counts is only known when the file is opened again.
    private func attempt<T>(
        _ state: inout State, _ body: (MailConnection, inout MailTotals) throws(DatabaseError) -> T
    ) throws(DatabaseError) -> T {
        let connection = try connect(&state)
        do throws(DatabaseError) {
            return try body(connection, &state.totals)
        } catch {
            state.connection = nil
            state.isReplaced = file.number != connection.file
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
    func refusal(_ size: UInt64, from sender: MailSender, to recipient: String, _ limits: MailLimits) -> MailRefusal? {
        state.withLock { $0.totals.refusal(size, from: sender, to: recipient, limits) }
    }
}

extension DatabaseError {
    fileprivate static func replaced(_ path: String) -> DatabaseError {
        DatabaseError(
            .damaged, "The \(MailSchema.name), '\(path)', was removed or replaced while the server works with it.")
    }
}
