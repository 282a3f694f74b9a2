/// Settings of a pool or a listener.
package struct PostgresConfiguration: Sendable {
    package let address: PostgresAddress

    /// The schema of the tables, made by `PostgresSchema` if it is absent.
    package var schema = "transfer"

    /// Most connections at a time. A server allows 100 by default, for all nodes together (max_connections).
    package var connectionLimit = 16

    /// Milliseconds after which the server cancels a statement: many times what a statement takes, and short enough
    /// that the client still waits for the answer.
    package var statementTimeout = 30_000

    /// Milliseconds that a statement waits for a lock.
    package var lockTimeout = 10_000

    /// Milliseconds after which the server ends a session that leaves a transaction open, such as that of a stopped
    /// node.
    package var idleInTransactionTimeout = 60_000

    /// Nanoseconds that a call may take if the caller gives no time: longer than a fail-over.
    package var patience: Int64 = 60_000_000_000

    /// Most attempts of a transaction that gives way to others (40001, 40P01). More mean that the statements are wrong.
    package var mostAttempts = 20

    /// The unit of pauses between attempts, in nanoseconds: about the time of a short transaction.
    package var pause: Int64 = 1_000_000

    package init(_ address: PostgresAddress) {
        self.address = address
    }
}

/// What a server has answered about itself.
package struct PostgresServerFacts: Equatable, Sendable {
    /// The host in the address.
    package let host: String
    /// The version, such as 150018 for 15.18.
    package let version: Int
    package let isInRecovery: Bool
    /// Whether new transactions allow no changes.
    package let isReadOnly: Bool
    /// Whether torn pages are repaired after a crash (full_page_writes).
    package let repairsPages: Bool
    /// The setting synchronous_commit before the session raised it to `on`.
    package let synchronousCommit: String
    /// The setting synchronous_standby_names; empty if no commit waits for a standby.
    package let synchronousStandbys: String
    /// The timeline of the log, as in the names of the log's files. Each fail-over begins another one. Empty during
    /// recovery.
    package let timeline: String

    /// Remarks for the operator about a server that this program uses nevertheless.
    package var remarks: [PostgresRemark] {
        var found: [PostgresRemark] = []
        if synchronousStandbys.isEmpty { found.append(.noSynchronousStandby) }
        if !repairsPages { found.append(.fullPageWritesOff) }
        if PostgresSession.isWeak(synchronousCommit) { found.append(.synchronousCommitRaised) }
        return found
    }
}

/// A property of a server that the operator should know. A pool reports each of them once.
package enum PostgresRemark: Hashable, Sendable {
    case noSynchronousStandby
    case fullPageWritesOff
    case synchronousCommitRaised

    /// A sentence for the log.
    package var message: String {
        switch self {
        case .noSynchronousStandby:
            "The database has no synchronous standby: a fail-over may lose what was acknowledged last. Set "
                + "synchronous_standby_names if there is a standby."
        case .fullPageWritesOff:
            "The database runs with full_page_writes = off: a power cut may damage it, unless its file system writes "
                + "pages as a whole."
        case .synchronousCommitRaised:
            "The database's synchronous_commit is weaker than 'on'. This program's sessions use 'on'."
        }
    }
}

/// Pins the settings of a new session and examines the server.
struct PostgresSession {
    /// The oldest version of the server, in libpq's form: all older ones have no support any more.
    private static let oldestVersion = 130_000

    /// The first version with idle_session_timeout.
    private static let idleSessionVersion = 140_000

    let configuration: PostgresConfiguration

    /// Whether a value of synchronous_commit lets a commit succeed before it is on the disks of server and standbys.
    static func isWeak(_ setting: String) -> Bool { setting != "on" && setting != "remote_apply" }

    /// Prepares a new connection, in one round trip.
    ///
    /// - Throws: `unfitServer` or `readOnly`.
    func prepare(_ connection: PostgresConnection, until deadline: Int64) throws(PostgresError) -> PostgresServerFacts {
        let host = configuration.address.hostName(connection.host)
        guard connection.serverVersion >= Self.oldestVersion else {
            throw Self.unfit("\(host): The database's version is \(connection.serverVersion). PostgreSQL 13 is needed.")
        }
        let rows = try connection.run(
            [try pinning(connection.serverVersion), Self.examination], until: deadline)
        guard rows.count == 2, let answer = rows.last else { throw .violation("an answer is missing") }
        let facts = PostgresServerFacts(
            host: host, version: connection.serverVersion, isInRecovery: try answer.boolean(0, 5),
            isReadOnly: try answer.text(0, 4) == "on", repairsPages: try answer.text(0, 1) == "on",
            synchronousCommit: try answer.text(0, 2), synchronousStandbys: try answer.text(0, 3),
            timeline: try answer.text(0, 7))
        guard try answer.text(0, 0) == "on" else {
            throw Self.unfit(
                "\(host): With fsync = off the database loses data when its machine stops. Set fsync = on.")
        }
        let kept = try answer.text(0, 6)
        guard !Self.isWeak(kept) else {
            throw Self.unfit("\(host): The database keeps synchronous_commit = \(kept). Allow to set it to 'on'.")
        }
        if facts.isReadOnly || facts.isInRecovery, configuration.address.requiresChanges {
            throw PostgresError(.readOnly, "\(host): The database allows no changes. Name the primary in the address.")
        }
        return facts
    }

    private static func unfit(_ sentence: String) -> PostgresError { PostgresError(.unfitServer, sentence) }

    /// The statement that pins the settings on which statements rely, whatever the role's or database's defaults are.
    private func pinning(_ version: Int) throws(PostgresError) -> PostgresStatement {
        var settings = [
            ("TimeZone", "UTC"), ("standard_conforming_strings", "on"),
            // A commit whose wait for a standby was cancelled says so in a warning.
            ("client_min_messages", "warning"),
            ("statement_timeout", "\(configuration.statementTimeout)"),
            ("lock_timeout", "\(configuration.lockTimeout)"),
            ("idle_in_transaction_session_timeout", "\(configuration.idleInTransactionTimeout)"),
            // With pg_temp behind it, a user without rights in the schema would make temporary tables instead.
            ("search_path", try PostgresStatement.quoted(configuration.schema)),
        ]
        if version >= Self.idleSessionVersion { settings.append(("idle_session_timeout", "0")) }
        let calls = settings.indices.map { "set_config($\(2 * $0 + 1), $\(2 * $0 + 2), false)" }
        return PostgresStatement(
            "SELECT " + calls.joined(separator: ", "), settings.flatMap { [.text($0.0), .text($0.1)] })
    }

    /// The last column but one raises synchronous_commit if it is weak. It is behind the column that shows the former
    /// value.
    private static let examination = PostgresStatement(
        """
        SELECT current_setting('fsync'), current_setting('full_page_writes'), weak.setting,
            current_setting('synchronous_standby_names'), current_setting('transaction_read_only'), pg_is_in_recovery(),
            CASE WHEN weak.setting IN ('on', 'remote_apply') THEN weak.setting
                ELSE set_config('synchronous_commit', 'on', false) END,
            CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END
        FROM (SELECT current_setting('synchronous_commit') AS setting OFFSET 0) AS weak
        """)
}
