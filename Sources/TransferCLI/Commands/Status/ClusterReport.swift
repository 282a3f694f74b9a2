internal import TransferCluster
internal import TransferModel
internal import TransferPostgres
private import TransferSystem

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

/// What `transfer status --catalog` prints about a cluster.
struct ClusterReport {
    private let database: ClusterDatabase
    private let bucket: String
    private let overview: ClusterOverview
    /// Nanoseconds that the database took to answer.
    private let duration: Int64

    /// The form of the JSON object.
    private static let schema = "transfer.cluster/1"

    /// Asks the database for all that is shown.
    init(_ database: ClusterDatabase) throws(LedgerError) {
        self.database = database
        bucket = String(decoding: try ClusterNotes(database.ledger).read(.bucket) ?? [], as: UTF8.self)
        let start = monotonicNanoseconds()
        overview = try database.ledger.overview()
        duration = monotonicNanoseconds() - start
    }

    // MARK: Text

    var text: String {
        let objects = overview.objects
        let rows = [
            ["cluster", "\(database.cluster)"], ["bucket", bucket.escapedForDisplay],
            [
                "database",
                "PostgreSQL \(database.facts.version / 10_000) at \(database.facts.host.escapedForDisplay), which answered in "
                    + "\(duration / 1_000_000) ms",
            ],
            [
                "objects",
                "\(objects.count) with \(Self.size(objects.bytes)), of which files use \(Self.size(objects.live)); "
                    + "\(objects.unused) to be deleted",
            ],
            ["unfinished", "\(overview.unfinished.count) uploads with \(Self.size(overview.unfinished.bytes))"],
            [
                "epochs",
                "\(overview.epochs.open) open, \(overview.epochs.closed) closed and not swept, \(overview.epochs.swept) swept",
            ],
        ]
        let servers = overview.servers.map { server in
            [
                server.name.escapedForDisplay, server.address?.escapedForDisplay ?? "this machine",
                "\(server.connections)", Self.time(server.since),
            ]
        }
        let table = servers.isEmpty ? "no server is connected\n" : TextTable.lines([Self.header] + servers)
        return TextTable.lines(rows) + table
    }

    private static let header = ["SERVER", "ADDRESS", "CONNECTIONS", "SINCE"]

    private static func size(_ bytes: Int64) -> String { ByteFormat.size(UInt64(clamping: bytes)) }

    private static func time(_ nanoseconds: Int64) -> String {
        UTCTime(clamping: nanoseconds / 1_000_000_000).description
    }

    // MARK: JSON

    var json: JSONLine {
        let (objects, epochs) = (overview.objects, overview.epochs)
        return [
            "schema": .string(Self.schema), "cluster": .string(database.cluster.description), "bucket": .string(bucket),
            "database": .object([
                "host": .string(database.facts.host), "version": .integer(database.facts.version),
                "milliseconds": .double(Double(duration) / 1e6),
            ]),
            "objects": .object([
                "count": .integer(objects.count), "bytes": .integer(objects.bytes), "live": .integer(objects.live),
                "unused": .integer(objects.unused),
            ]),
            "unfinished": .object([
                "count": .integer(overview.unfinished.count), "bytes": .integer(overview.unfinished.bytes),
            ]),
            "epochs": .object([
                "open": .integer(epochs.open), "closed": .integer(epochs.closed), "swept": .integer(epochs.swept),
            ]),
            "servers": .array(
                overview.servers.map { server in
                    .object([
                        "name": .string(server.name), "address": server.address.map { .string($0) } ?? .null,
                        "connections": .integer(server.connections), "since": .string(Self.time(server.since)),
                    ])
                }),
        ]
    }
}
