package import TransferModel
import TransferPorts
package import TransferPostgres

/// The ledger of a cluster in PostgreSQL, from version 13.
///
/// Each call is one transaction in one pipeline, and so takes one round trip. Transactions are READ COMMITTED and lock
/// the rows that they depend on: epochs and folders shared, so that servers do not wait for each other in the same
/// folder, and nodes that are changed, uploads and objects exclusively. All transactions lock tables in the same order
/// (epochs, nodes, uploads, objects) and the rows of a table by their numbers, so that they seldom wait in a circle; if
/// they do, the server chooses one, and the pool repeats it.
package final class PostgresLedger: ClusterLedger {
    private let pool: PostgresPool

    /// - Parameter pool: connections with a database whose tables `schema` has prepared.
    package init(_ pool: PostgresPool) { self.pool = pool }

    // MARK: Transactions

    /// Reads with one statement.
    ///
    /// - Parameter decode: makes the result from all rows.
    func read<Value>(
        _ statement: PostgresStatement, _ decode: (PostgresRows) throws(PostgresError) -> Value
    ) throws(LedgerError) -> Value {
        try read([statement], .readCommitted) { (answers) throws(PostgresError) in try decode(answers.answer(0)) }
    }

    /// Lets statements that look rows up one by one, or by pages, use indexes, with one plan for all executions.
    ///
    /// A plan that is made while a table has few rows reads the whole table for each row that it looks up, and stays
    /// until the table is analysed again: a minute later with the usual settings, in which the table may have got a
    /// million rows. A page of a folder is found by reading and sorting the whole folder then, instead of in the order
    /// of the index. And the server would make a new plan for each execution, which takes longer than the execution for
    /// one file, because it takes a plan for ten elements of an array as more expensive than one for a single element.
    /// Compiling such a plan takes a second (jit), and is never worth it.
    static let preferIndexes = PostgresStatement(
        "SELECT "
            + [
                ("enable_seqscan", "off"), ("enable_bitmapscan", "off"), ("jit", "off"),
                ("plan_cache_mode", "force_generic_plan"),
            ].map { "set_config('\($0)', '\($1)', true) IS NULL" }.joined(separator: ", "))

    /// Reads with one statement that looks rows up one by one, or a page of rows.
    func find<Value>(
        _ statement: PostgresStatement, _ decode: (PostgresRows) throws(PostgresError) -> Value
    ) throws(LedgerError) -> Value {
        try read([Self.preferIndexes, statement], .readCommitted) { (answers) throws(PostgresError) in
            try decode(answers.answer(1))
        }
    }

    /// Reads with several statements that see the same moment.
    func read<Value>(
        _ statements: [PostgresStatement], _ isolation: PostgresIsolation = .repeatableRead,
        _ decode: ([PostgresRows]) throws(PostgresError) -> Value
    ) throws(LedgerError) -> Value {
        do throws(PostgresError) {
            return try pool.read(isolation) { (transaction) throws(PostgresError) in
                try decode(transaction.finish(statements))
            }
        } catch { throw LedgerError(error) }
    }

    /// Changes rows, in one round trip.
    ///
    /// - Returns: the answers to the statements.
    @discardableResult
    func change(_ statements: PostgresStatement...) throws(LedgerError) -> [PostgresRows] { try change(statements) }

    @discardableResult
    func change(_ statements: [PostgresStatement]) throws(LedgerError) -> [PostgresRows] {
        try attempt { (transaction) throws(PostgresError) in try transaction.finish(statements) }.made()
    }

    /// Performs a transaction of any number of round trips.
    func attempt<Value>(
        _ body: (PostgresTransaction) throws(PostgresError) -> Value
    ) -> PostgresOutcome<Value> {
        pool.transaction(.readCommitted, body)
    }

    /// Decodes the answer to changes that are made.
    func decode<Value>(_ body: () throws(PostgresError) -> Value) throws(LedgerError) -> Value {
        do throws(PostgresError) { return try body() } catch { throw LedgerError(error) }
    }

    package var term: LedgerTerm { LedgerTerm(pool.term) }

    package func awaitDurability(of term: LedgerTerm) throws(LedgerError) {
        do throws(PostgresError) { try pool.barrier(of: term.number) } catch { throw LedgerError(error) }
    }
}

// MARK: - Rotten files

extension PostgresLedger {
    private static let marked = "SELECT number, digest FROM nodes WHERE rotten"

    package func rotten(_ nodes: [UInt64]) throws(LedgerError) -> [UInt64: Digest] {
        try read(PostgresStatement(Self.marked + " AND number = ANY ($1)", [.numbers(nodes)]), Self.marks)
    }

    package func hasRotten() throws(LedgerError) -> Bool {
        try read(PostgresStatement("SELECT EXISTS (\(Self.marked))")) { (rows) throws(PostgresError) in
            try rows.boolean(0, 0)
        }
    }

    package func allRotten() throws(LedgerError) -> [UInt64: Digest] {
        try read(PostgresStatement(Self.marked), Self.marks)
    }

    private static func marks(_ rows: PostgresRows) throws(PostgresError) -> [UInt64: Digest] {
        var marks: [UInt64: Digest] = [:]
        for row in 0..<rows.count { marks[try rows.number(row, 0)] = try rows.digest(row, 1) }
        return marks
    }

    package func mark(rotten files: [UInt64]) throws(LedgerError) {
        if !files.isEmpty { try change(Self.mark(files, isRotten: true)) }
    }

    package func removeMarks(_ nodes: [UInt64]) throws(LedgerError) {
        if !nodes.isEmpty { try change(Self.mark(nodes, isRotten: false)) }
    }

    /// Changes the mark of files that have another one.
    static func mark(_ nodes: some Sequence<UInt64>, isRotten: Bool) -> PostgresStatement {
        PostgresStatement(
            """
            UPDATE nodes SET rotten = $2, touch = touch + 1 WHERE number IN (
                SELECT number FROM nodes WHERE number = ANY ($1) AND form = \(LedgerForm.file) AND rotten <> $2
                ORDER BY number FOR UPDATE)
            """, [.numbers(Set(nodes).sorted()), .boolean(isRotten)])
    }
}

// MARK: - Errors

extension PostgresOutcome {
    /// The result of a committed transaction.
    func made() throws(LedgerError) -> Value {
        switch self {
        case .committed(let value): return value
        case .rolledBack(let error): throw LedgerError(error)
        case .unknown(let error): throw LedgerError(.unknown, error.message)
        }
    }
}

extension LedgerError {
    /// The meaning of an error of the database for the callers of a ledger.
    package init(_ error: PostgresError) {
        if let found = Self.condition(error) {
            self = found
            return
        }
        let reason: Reason =
            switch error.reason {
            case .busy, .unavailable, .closed: .unavailable
            case .readOnly: .readOnly
            case .full: .full
            case .givenUp: .conflict
            case .protocolViolation, .constraint: .damaged
            case .credentials, .noDatabase, .noRights, .unfitServer, .badAddress, .missingLibrary, .foreignCluster,
                .newerSchema, .bug:
                .refused
            }
        self.init(reason, error.message)
    }

    /// The conditions of the ledger's statements, by their codes.
    private static func condition(_ error: PostgresError) -> LedgerError? {
        switch error.sqlState {
        case LedgerCondition.conflict: LedgerError(.conflict, "A row has changed since this server looked at it.")
        case LedgerCondition.epochClosed: LedgerError(.epochClosed, "The epoch of this server is closed.")
        case LedgerCondition.full: LedgerError(.full, "There are as many unfinished uploads as there may be.")
        // unique_violation: another server took the name, the number or the ID first.
        case "23505": LedgerError(.conflict, "Another server has made the same row: \(error.message)")
        // numeric_value_out_of_range, and a check of a column.
        case "22003", "23514":
            LedgerError(.damaged, "The counts of the database contradict the changes: \(error.message)")
        default: nil
        }
    }
}
