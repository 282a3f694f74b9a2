import TransferSystem

/// The random ID of a cluster, kept in its database, so that nodes do not mix the data of two clusters.
package struct PostgresClusterID: Hashable, Sendable, CustomStringConvertible {
    /// The number of bytes, enough that no two clusters have the same.
    package static let size = 16

    package let bytes: [UInt8]

    /// - Returns: nil for another number of bytes than `size`.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
    }

    /// Makes the ID of a new cluster.
    package init() {
        var random = SecureRandom()
        bytes = (0..<Self.size).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    }

    package var description: String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

/// The tables of a database, and the steps from earlier versions to the current one.
///
/// The version is in the table `transfer_schema` with the oldest version of a program that understands the tables, so
/// that nodes of two versions can work beside each other while a cluster is upgraded. Each step is a transaction under
/// a lock, so any number of programs may call `prepare` at once.
package struct PostgresSchema: Sendable {
    /// The changes from the version before to this one.
    package struct Step: Sendable {
        package let version: Int64
        /// The oldest version of a program that may use the tables after this step.
        package let minimumReader: Int64
        /// The changes in their order, one SQL command each.
        package let statements: [String]

        package init(_ version: Int64, minimumReader: Int64, _ statements: [String]) {
            (self.version, self.minimumReader, self.statements) = (version, minimumReader, statements)
        }
    }

    /// The cluster to which the database has to belong.
    package enum Cluster: Sendable {
        /// Any cluster; an empty database becomes that of a new one.
        case any
        /// This cluster; an empty database is refused.
        case known(PostgresClusterID)
        /// This cluster, whose database was lost; an empty database becomes its new one.
        case restored(PostgresClusterID)
    }

    /// What the database says about its tables.
    package struct Contents: Equatable, Sendable {
        package let version: Int64
        package let minimumReader: Int64
        package let cluster: PostgresClusterID
    }

    /// The key of the lock, the eight letters of "transfer"; locks of other programs in the same database differ.
    private static let lockKey: Int64 = 0x7472_616e_7366_6572

    private static let lock = PostgresStatement("SELECT pg_advisory_xact_lock($1) IS NULL", [.integer(lockKey)])

    /// A change of large tables, and the wait for another program that makes it, may take as long as the caller allows.
    private static let patient = PostgresStatement(
        "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)")

    /// The statements about the table of one schema. They name the schema, so that a missing right is reported as such,
    /// and not as a missing table.
    private struct Statements {
        let schema: String
        let table: String

        init(_ schema: String) throws(PostgresError) {
            self.schema = schema
            table = "\(try PostgresStatement.quoted(schema)).transfer_schema"
        }

        /// Reads the catalog's tables: functions such as to_regclass use a cache, which can be older than the lock.
        var find: PostgresStatement {
            PostgresStatement(
                """
                SELECT EXISTS (SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                    WHERE nspname = $1 AND relname = 'transfer_schema')
                """, [.text(schema)])
        }

        var findSchema: PostgresStatement {
            PostgresStatement("SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)", [.text(schema)])
        }

        var read: PostgresStatement { PostgresStatement("SELECT version, minimum_reader, cluster FROM \(table)") }

        /// The one row has a key that can have one value only.
        var create: PostgresStatement {
            PostgresStatement(
                """
                CREATE TABLE \(table) (only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row), version int8 NOT NULL,
                    minimum_reader int8 NOT NULL, cluster bytea NOT NULL, changed timestamptz NOT NULL DEFAULT now())
                """)
        }

        func insert(_ id: PostgresClusterID) -> PostgresStatement {
            PostgresStatement(
                "INSERT INTO \(table) (version, minimum_reader, cluster) VALUES (0, 0, $1)", [.bytes(id.bytes)])
        }

        func note(_ step: Step) -> PostgresStatement {
            PostgresStatement(
                "UPDATE \(table) SET version = $1, minimum_reader = greatest(minimum_reader, $2), changed = now()",
                [.integer(step.version), .integer(step.minimumReader)])
        }
    }

    private let steps: [Step]

    /// - Parameter steps: in the order of their versions, beginning with 1.
    package init(_ steps: [Step]) {
        self.steps = steps
    }

    /// The version that this program makes and knows.
    package var version: Int64 { steps.last?.version ?? 0 }

    /// Makes the schema and its tables, or brings them up to date.
    ///
    /// - Parameter time: nanoseconds that all steps together may take.
    /// - Throws: `newerSchema`, `foreignCluster`, or `noRights` with the rights to grant.
    package func prepare(
        _ pool: PostgresPool, cluster: Cluster, within time: Int64
    ) throws(PostgresError) -> Contents {
        let deadline = monotonicDeadline(after: time)
        let statements = try Statements(pool.configuration.schema)
        while true {
            let found = try Self.contents(pool, statements, deadline)
            if let found {
                try check(found, cluster)
                if found.version >= version { return found }
            }
            let rest = deadline.subtractingReportingOverflow(monotonicNanoseconds()).partialValue
            let outcome = pool.transaction(within: rest) { (transaction) throws(PostgresError) in
                try upgrade(transaction, statements, cluster)
            }
            // After an unknown commit the database is asked, unless there is no time left.
            switch outcome {
            case .committed: continue
            case .unknown(let error): if monotonicNanoseconds() >= deadline { throw error }
            case .rolledBack(let error): throw Self.explained(error, pool.configuration)
            }
        }
    }

    /// Reads what the database says about its tables, without making or changing any.
    ///
    /// - Parameter time: nanoseconds that the call may take.
    /// - Returns: nil for a database without tables of this program.
    /// - Throws: also `newerSchema`.
    package func contents(_ pool: PostgresPool, within time: Int64) throws(PostgresError) -> Contents? {
        let statements = try Statements(pool.configuration.schema)
        guard let found = try Self.contents(pool, statements, monotonicDeadline(after: time)) else { return nil }
        try check(found, .any)
        return found
    }

    private static func contents(
        _ pool: PostgresPool, _ statements: Statements, _ deadline: Int64
    ) throws(PostgresError) -> Contents? {
        let rest = deadline.subtractingReportingOverflow(monotonicNanoseconds()).partialValue
        do throws(PostgresError) {
            return try pool.read(within: rest) { (transaction) throws(PostgresError) in
                guard try transaction.run(statements.find).boolean(0, 0) else { return nil }
                return try contents(transaction.run(statements.read))
            }
        } catch {
            throw explained(error, pool.configuration)
        }
    }

    private static func contents(_ rows: PostgresRows) throws(PostgresError) -> Contents {
        guard rows.count == 1, let cluster = PostgresClusterID(try rows.bytes(0, 2)) else {
            throw .unexpected("the table transfer_schema has \(rows.count) rows, or a wrong cluster")
        }
        return Contents(
            version: try rows.integer(0, 0), minimumReader: try rows.integer(0, 1), cluster: cluster)
    }

    private func check(_ found: Contents, _ cluster: Cluster) throws(PostgresError) {
        switch cluster {
        case .known(let id), .restored(let id):
            guard id == found.cluster else {
                throw PostgresError(
                    .foreignCluster,
                    "The database belongs to the cluster \(found.cluster), and this server to \(id). Correct the address."
                )
            }
        case .any: break
        }
        guard found.version <= version || found.minimumReader <= version else {
            throw PostgresError(
                .newerSchema,
                "The database has version \(found.version), which needs a program of version \(found.minimumReader), and "
                    + "this one has \(version). Install the newer program.")
        }
    }

    /// Takes the next step in a transaction, or none if another program has taken it.
    private func upgrade(
        _ transaction: PostgresTransaction, _ statements: Statements, _ cluster: Cluster
    ) throws(PostgresError) {
        _ = try transaction.run([Self.patient, Self.lock])
        if try !transaction.run(statements.find).boolean(0, 0) { try create(transaction, statements, cluster) }
        let found = try Self.contents(transaction.run(statements.read))
        try check(found, cluster)
        guard let step = steps.first(where: { $0.version > found.version }) else { return }
        _ = try transaction.finish(step.statements.map { PostgresStatement($0) } + [statements.note(step)])
    }

    private func create(
        _ transaction: PostgresTransaction, _ statements: Statements, _ cluster: Cluster
    ) throws(PostgresError) {
        let id: PostgresClusterID
        switch cluster {
        case .any: id = PostgresClusterID()
        case .restored(let restored): id = restored
        case .known(let known):
            throw PostgresError(
                .foreignCluster,
                "The database is empty, though it should be that of the cluster \(known). Correct the address or restore it. "
                    + "Without a backup, 'transfer catalog rebuild' fills it from the bucket."
            )
        }
        // CREATE SCHEMA IF NOT EXISTS would want the right to create schemas also where the schema exists.
        if try !transaction.run(statements.findSchema).boolean(0, 0) {
            let schema = try PostgresStatement.quoted(statements.schema)
            _ = try transaction.run(PostgresStatement("CREATE SCHEMA \(schema)"))
        }
        _ = try transaction.run([statements.create, statements.insert(id)])
    }

    /// Says which rights are missing. 3F000 means that the schema exists and the user may not use it.
    private static func explained(_ error: PostgresError, _ configuration: PostgresConfiguration) -> PostgresError {
        guard error.reason == .noRights || error.sqlState == "3F000" else { return error }
        return PostgresError(
            .noRights,
            "The database user may not make or change the tables in the schema '\(configuration.schema)': \(error.message) "
                + "As the owner of the database, run CREATE SCHEMA \(configuration.schema) AUTHORIZATION the user.",
            sqlState: error.sqlState)
    }
}
