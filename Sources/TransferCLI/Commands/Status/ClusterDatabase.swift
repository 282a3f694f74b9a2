internal import TransferCluster
internal import TransferModel
internal import TransferPostgres

/// The database of a cluster, for commands that work beside its servers.
struct ClusterDatabase {
    static let flag = Flag(
        name: "catalog", placeholder: "URL", help: "The database of a cluster, instead of a directory.",
        details: "The address that its servers have as --catalog."
    ).text

    /// Nanoseconds that the database may take to answer.
    private static let patience: Int64 = 20_000_000_000

    let ledger: PostgresLedger
    let facts: PostgresServerFacts
    let cluster: PostgresClusterID

    /// Whether a text is meant as the address of a database.
    static func isAddress(_ text: String) -> Bool {
        ["postgres://", "postgresql://"].contains { text.utf8.starts(with: $0.utf8) }
    }

    /// Connects. Makes and changes no table.
    ///
    /// - Parameter address: a URI, which may contain a password.
    /// - Throws: a sentence if the database cannot be used, or if no server of a cluster has used it.
    init(_ address: String) throws(PostgresError) {
        let pool = try PostgresPool(PostgresConfiguration(try PostgresAddress(address)))
        facts = try pool.examine(within: Self.patience)
        guard let contents = try PostgresLedger.schema.contents(pool, within: Self.patience) else {
            throw PostgresError(
                .noDatabase, "No server of a cluster has used this database. Start one first, or correct the address.")
        }
        (ledger, cluster) = (PostgresLedger(pool), contents.cluster)
    }
}
