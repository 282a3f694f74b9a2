package import TransferModel
package import TransferPorts
import TransferPostgres

extension PostgresLedger {
    private static let columns = EntryColumns.select("e", "n")

    /// The most entries of a file in each state that are found by the file.
    private static let mostEntries = 64

    private static let states = CatalogEntry.State.allCases.map { "(\($0.rawValue))" }.joined(separator: ", ")

    /// The newest entries of each state, for a query over nodes that are called `n`.
    private static let newest = """
        CROSS JOIN (VALUES \(states)) AS s (state) CROSS JOIN LATERAL (
            SELECT * FROM entries WHERE node = n.number AND entries.state = s.state
            ORDER BY number DESC LIMIT \(mostEntries)) AS e
        """

    package func entries(_ ids: [UploadID]) throws(LedgerError) -> [LedgerEntry?] {
        let statement = PostgresStatement(
            """
            SELECT \(Self.columns) FROM unnest($1::int8[], $2::int8[]) AS i (high, low)
                JOIN entries e ON e.high = i.high AND e.low = i.low JOIN nodes n ON n.number = e.node
            """, PostgresValue.halves(Array(Set(ids))))
        return try find(statement) { (rows) throws(PostgresError) in
            var found: [UploadID: LedgerEntry] = [:]
            for entry in try EntryColumns.entries(rows) { found[entry.entry.id] = entry }
            return ids.map { found[$0] }
        }
    }

    package func entries(of nodes: [UInt64]) throws(LedgerError) -> [[LedgerEntry]] {
        let statement = PostgresStatement(
            "SELECT \(Self.columns) FROM nodes n \(Self.newest) WHERE n.number = ANY ($1)", [.numbers(nodes)])
        let found = try find(statement, Self.byNode)
        return nodes.map { found[$0] ?? [] }
    }

    /// The entries of each node, the newest first.
    private static func byNode(_ rows: PostgresRows) throws(PostgresError) -> [UInt64: [LedgerEntry]] {
        let entries = try EntryColumns.entries(rows).sorted { $0.number > $1.number }
        return Dictionary(grouping: entries, by: \.node)
    }

    package func entries(after number: Int64, limit: Int) throws(LedgerError) -> [LedgerEntry] {
        let statement = PostgresStatement(
            """
            SELECT \(Self.columns) FROM (SELECT * FROM entries WHERE number > $1 ORDER BY number LIMIT $2) AS e
                JOIN nodes n ON n.number = e.node ORDER BY e.number
            """, [.integer(number), .limit(limit)])
        return try find(statement, EntryColumns.entries)
    }

    package func entries(
        in folder: UInt64, after name: PathKey?, limit: Int
    ) throws(LedgerError) -> [(node: NodeRow, entries: [LedgerEntry])] {
        let page = """
            SELECT * FROM nodes WHERE folder = $1 AND name > $2 AND form = \(LedgerForm.file) ORDER BY name LIMIT $3
            """
        let parameters: [PostgresValue] = [.number(folder), .bytes(name?.string ?? ""), .limit(limit)]
        return try read([
            Self.preferIndexes,
            PostgresStatement("SELECT \(NodeColumns.select("n")) FROM (\(page)) AS n ORDER BY n.name", parameters),
            PostgresStatement("SELECT \(Self.columns) FROM (\(page)) AS n \(Self.newest)", parameters),
        ]) { (answers) throws(PostgresError) in
            let entries = try Self.byNode(answers.answer(2))
            return try NodeColumns.nodes(answers.answer(1)).map { ($0, entries[$0.number] ?? []) }
        }
    }

    package func totals() throws(LedgerError) -> [CatalogEntry.State: CatalogTotals] {
        let statement = PostgresStatement(
            "SELECT state::int4, count(*), least(sum(size), \(Int64.max))::int8 FROM entries GROUP BY state")
        return try read(statement) { (rows) throws(PostgresError) in
            var totals: [CatalogEntry.State: CatalogTotals] = [:]
            for row in 0..<rows.count {
                guard let state = CatalogEntry.State(rawValue: try rows.integer(row, 0)) else {
                    throw .wrongForm("an entry has the state \(try rows.integer(row, 0))")
                }
                totals[state] = CatalogTotals(
                    uploads: Int(clamping: try rows.integer(row, 1)), bytes: try rows.number(row, 2))
            }
            return totals
        }
    }

    // MARK: Receipts

    package func receipts(with number: UInt64) throws(LedgerError) -> KeptReceipts? {
        let statement = PostgresStatement(
            """
            SELECT first, time, version::int4, signature, sender, ids FROM receipts WHERE first <= $1
            ORDER BY first DESC LIMIT 1
            """, [.number(number)])
        let found = try read(statement) { (rows) throws(PostgresError) in
            rows.count > 0 ? try Self.receipts(rows) : nil
        }
        return found.flatMap { $0.contain(number) ? $0 : nil }
    }

    private static func receipts(_ rows: PostgresRows) throws(PostgresError) -> KeptReceipts {
        guard let version = UInt8(exactly: try rows.integer(0, 2)) else {
            throw .wrongForm("receipts have the version \(try rows.integer(0, 2))")
        }
        let ids = try rows.bytes(0, 5)
        let uploads = stride(from: 0, to: ids.count - ids.count % UploadID.size, by: UploadID.size).map { offset in
            UploadID(ids.span.bytes, at: offset)
        }
        let batch = SignedBatch(
            version: version, number: try rows.number(0, 0), time: try rows.number(0, 1), count: uploads.count,
            signature: try rows.bytes(0, 3), sender: try rows.string(0, 4))
        return KeptReceipts(batch, uploads: uploads)
    }

    package func reserveReceipts(_ count: Int64) throws(LedgerError) -> UInt64 {
        let reserve = "UPDATE numbers SET value = value + $1 WHERE name = 'receipts' RETURNING value - $1"
        let answers = try change(PostgresStatement(reserve, [.integer(max(0, count))]))
        return try decode { () throws(PostgresError) in try answers.answer(0).number(0, 0) }
    }
}
