import TransferPostgres

/// What operators want to know about a cluster as a whole.
package struct ClusterOverview: Equatable, Sendable {
    /// A server that is connected with the database.
    package struct Server: Equatable, Sendable {
        /// The name that it has given itself.
        package let name: String

        /// The address that it connects from; nil for a Unix socket.
        package let address: String?

        package let connections: Int64

        /// When its oldest connection began; UTC, in nanoseconds since 1970.
        package let since: Int64
    }

    /// The servers, in the order of their names.
    package let servers: [Server]

    /// Numbers of epochs in each state.
    package let epochs: (open: Int64, closed: Int64, swept: Int64)

    /// All objects: their number, their bytes, the bytes that files refer to, and the number of those that are to be deleted.
    package let objects: (count: Int64, bytes: Int64, live: Int64, unused: Int64)

    /// Unfinished uploads, and the bytes that are kept free for them.
    package let unfinished: (count: Int64, bytes: Int64)

    package static func == (a: Self, b: Self) -> Bool {
        a.servers == b.servers && a.epochs == b.epochs && a.objects == b.objects && a.unfinished == b.unfinished
    }
}

extension PostgresLedger {
    /// Servers have this word and their own name as the name of a program that uses the database.
    package static let programPrefix = "transfer "

    /// Reads the overview. Counts the rows of all objects, which takes a second for some ten million.
    package func overview() throws(LedgerError) -> ClusterOverview {
        let servers = PostgresStatement(
            """
            SELECT application_name, coalesce(host(client_addr), ''), count(*),
                (extract(epoch FROM min(backend_start)) * 1000000)::int8
            FROM pg_stat_activity
            WHERE datname = current_database() AND application_name LIKE '\(Self.programPrefix)%'
            GROUP BY 1, 2 ORDER BY 1, 2
            """)
        let counts = PostgresStatement(
            """
            SELECT count(*) FILTER (WHERE state = \(EpochRow.State.open.rawValue)),
                count(*) FILTER (WHERE state = \(EpochRow.State.closed.rawValue)),
                count(*) FILTER (WHERE state = \(EpochRow.State.swept.rawValue)) FROM epochs
            """)
        let objects = PostgresStatement(
            """
            SELECT count(*), coalesce(sum(size), 0)::int8, coalesce(sum(live), 0)::int8,
                count(*) FILTER (WHERE emptied IS NOT NULL) FROM objects
            """)
        let uploads = PostgresStatement("SELECT count(*), coalesce(sum(reserved), 0)::int8 FROM uploads")
        return try read([servers, counts, objects, uploads]) { (answers) throws(PostgresError) in
            let (epochs, objects, uploads) = (try answers.answer(1), try answers.answer(2), try answers.answer(3))
            return ClusterOverview(
                servers: try Self.servers(answers.answer(0)),
                epochs: (try epochs.integer(0, 0), try epochs.integer(0, 1), try epochs.integer(0, 2)),
                objects: (
                    try objects.integer(0, 0), try objects.integer(0, 1), try objects.integer(0, 2),
                    try objects.integer(0, 3)
                ),
                unfinished: (try uploads.integer(0, 0), try uploads.integer(0, 1)))
        }
    }

    private static func servers(_ rows: PostgresRows) throws(PostgresError) -> [ClusterOverview.Server] {
        var servers: [ClusterOverview.Server] = []
        for row in 0..<rows.count {
            let address = try rows.text(row, 1)
            servers.append(
                ClusterOverview.Server(
                    name: String(try rows.text(row, 0).dropFirst(programPrefix.count)),
                    address: address.isEmpty ? nil : address, connections: try rows.integer(row, 2),
                    since: try rows.integer(row, 3).multipliedReportingOverflow(by: 1000).partialValue))
        }
        return servers
    }
}
