package import TransferModel
package import TransferPorts
import TransferPostgres

// MARK: Epochs and objects

extension PostgresLedger {
    private static let epochColumns = "number, opened, state::int4, key, server"

    package func open(_ epoch: EpochRow) throws(LedgerError) {
        let insert = """
            INSERT INTO epochs (number, opened, state, key, server)
            VALUES ($1, \(LedgerCondition.clock), \(EpochRow.State.open.rawValue), $2, $3)
            """
        try change(PostgresStatement(insert, [.number(epoch.number), .bytes(epoch.key), .bytes(epoch.server)]))
    }

    package func adopt(_ epochs: [EpochRow], _ objects: [ObjectRow]) throws(LedgerError) {
        if let contradiction = EpochRow.contradiction(epochs, objects) { throw contradiction }
        let insert = """
            INSERT INTO epochs (number, opened, state, key, server)
            SELECT e.number, \(LedgerCondition.clock), \(EpochRow.State.swept.rawValue), e.key, e.server
            FROM unnest($1::int8[], $2::bytea[], $3::bytea[]) AS e (number, key, server)
            """
        let values: [PostgresValue] = [
            .numbers(epochs.map(\.number)), .byteStrings(epochs.map { Array($0.key.utf8) }),
            .byteStrings(epochs.map { Array($0.server.utf8) }),
        ]
        try change(
            (epochs.isEmpty ? [] : [PostgresStatement(insert, values)])
                + (ApplyStatements.insert(objects, orAdd: false).map { [$0] } ?? []))
    }

    package func epochs(_ numbers: [UInt64]) throws(LedgerError) -> [EpochRow] {
        let statement = PostgresStatement(
            "SELECT \(Self.epochColumns) FROM epochs WHERE number = ANY ($1) ORDER BY number", [.numbers(numbers)])
        return try read(statement, Self.epochs)
    }

    private static func epochs(_ rows: PostgresRows) throws(PostgresError) -> [EpochRow] {
        var epochs: [EpochRow] = []
        for row in 0..<rows.count {
            guard let state = Int16(exactly: try rows.integer(row, 2)).flatMap({ EpochRow.State(rawValue: $0) }) else {
                throw .wrongForm("an epoch has the state \(try rows.integer(row, 2))")
            }
            epochs.append(
                EpochRow(
                    number: try rows.number(row, 0), key: try rows.string(row, 3), server: try rows.string(row, 4),
                    opened: try rows.integer(row, 1), state: state))
        }
        return epochs
    }

    package func closeEpochs(olderThan age: Int64) throws(LedgerError) -> [EpochRow] {
        // The update waits for transactions that have locked an epoch as open.
        let close = """
            UPDATE epochs SET state = \(EpochRow.State.closed.rawValue) WHERE number IN (
                SELECT number FROM epochs
                WHERE state = \(EpochRow.State.open.rawValue) AND \(LedgerCondition.clock) - opened > $1
                ORDER BY number FOR UPDATE)
            """
        let closed = """
            SELECT \(Self.epochColumns) FROM epochs WHERE state = \(EpochRow.State.closed.rawValue) ORDER BY number
            """
        let answers = try change(PostgresStatement(close, [.integer(age)]), PostgresStatement(closed))
        return try decode { () throws(PostgresError) in try Self.epochs(answers.answer(1)) }
    }

    package func noteSwept(_ epoch: UInt64) throws(LedgerError) {
        let note = """
            WITH swept AS (UPDATE epochs SET state = \(EpochRow.State.swept.rawValue)
                WHERE number = $1 AND state <> \(EpochRow.State.open.rawValue) RETURNING 1)
            SELECT \(LedgerCondition.holds("count(*) = 1")) FROM swept
            """
        try change(PostgresStatement(note, [.number(epoch)]))
    }

    package func known(_ objects: [ObjectNumber]) throws(LedgerError) -> Set<ObjectNumber> {
        let statement = PostgresStatement(
            "SELECT number FROM objects WHERE number = ANY ($1)", [.numbers(objects.map(\.rawValue))])
        return Set(try read(statement, Self.objects))
    }

    private static func objects(_ rows: PostgresRows) throws(PostgresError) -> [ObjectNumber] {
        var objects: [ObjectNumber] = []
        for row in 0..<rows.count { objects.append(ObjectNumber(rawValue: try rows.number(row, 0))) }
        return objects
    }

    package func unused(for age: Int64, limit: Int) throws(LedgerError) -> [ObjectNumber] {
        let statement = PostgresStatement(
            """
            SELECT number FROM objects o WHERE emptied <= \(LedgerCondition.clock) - $1 AND NOT EXISTS (
                SELECT FROM epochs e WHERE e.number = o.number / \(ObjectNumber.mostSerials)
                    AND e.state = \(EpochRow.State.open.rawValue))
            ORDER BY emptied, number LIMIT $2
            """, [.integer(max(0, age)), .limit(limit)])
        return try read(statement, Self.objects)
    }

    package func forget(_ objects: [ObjectNumber]) throws(LedgerError) {
        guard !objects.isEmpty else { return }
        try change(
            PostgresStatement(
                "DELETE FROM objects WHERE number = ANY ($1) AND live = 0",
                [.numbers(objects.map(\.rawValue).sorted())]))
    }
}

// MARK: - Unfinished uploads

extension PostgresLedger {
    /// The upload whose ID is in the first two parameters.
    private static let selectUpload = "SELECT \(UploadColumns.select) FROM uploads WHERE high = $1 AND low = $2"

    private static let selectParts =
        "SELECT \(PartColumns.names) FROM parts WHERE high = $1 AND low = $2 ORDER BY lower"

    package func begin(
        _ upload: OpenUploadRow, limit: Int
    ) throws(LedgerError) -> (row: OpenUploadRow, isNew: Bool) {
        let id = PostgresValue.halves(upload.id)
        // Uploads begin one after the other, so that two servers do not exceed the limit together.
        let lock = PostgresStatement("SELECT value FROM numbers WHERE name = 'uploads' FOR UPDATE")
        let insert = """
            INSERT INTO uploads (\(UploadColumns.names))
            SELECT $1, $2, $3, $4, $5, $6, $7, $8::int4, $9, $10, $11 WHERE (SELECT count(*) FROM uploads) < $12
            ON CONFLICT (high, low) DO NOTHING
            """
        let exists = "EXISTS (SELECT FROM uploads WHERE high = $1 AND low = $2)"
        let answers = try change(
            lock, PostgresStatement(insert, UploadColumns.values(upload) + [.limit(limit)]),
            PostgresStatement("SELECT \(LedgerCondition.hasRoom(exists))", id), PostgresStatement(Self.selectUpload, id)
        )
        return try decode { () throws(PostgresError) in
            let rows = try answers.answer(3)
            return (try UploadColumns.row(rows, 0), try answers.answer(1).affected == 1)
        }
    }

    package func upload(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])? {
        let id = PostgresValue.halves(id)
        return try read([
            PostgresStatement(Self.selectUpload, id), PostgresStatement(Self.selectParts, id),
        ]) { (answers) throws(PostgresError) in try Self.upload(answers.answer(0), answers.answer(1)) }
    }

    package func epoch(
        of id: UploadID, _ range: Range<UInt64>
    ) throws(LedgerError) -> (epoch: UInt64, hasParts: Bool)? {
        // Parts do not overlap, so the last one that begins below the end of the range is the one that can reach into it.
        let select = """
            SELECT epoch, coalesce((SELECT upper FROM parts p WHERE p.high = $1 AND p.low = $2 AND p.lower < $4
                ORDER BY p.lower DESC LIMIT 1) > $3, false)
            FROM uploads WHERE high = $1 AND low = $2
            """
        let statement = PostgresStatement(
            select, PostgresValue.halves(id) + [.number(range.lowerBound), .number(range.upperBound)])
        return try find(statement) { (rows) throws(PostgresError) in
            rows.count > 0 ? (try rows.number(0, 0), try rows.boolean(0, 1)) : nil
        }
    }

    private static func upload(
        _ rows: PostgresRows, _ parts: PostgresRows
    ) throws(PostgresError) -> (row: OpenUploadRow, parts: [PartRow])? {
        guard rows.count > 0 else { return nil }
        return (try UploadColumns.row(rows, 0), try Self.parts(parts))
    }

    private static func parts(_ rows: PostgresRows) throws(PostgresError) -> [PartRow] {
        var parts: [PartRow] = []
        for row in 0..<rows.count { parts.append(try PartColumns.part(rows, row)) }
        return parts
    }

    package func takeOver(_ id: UploadID) throws(LedgerError) -> (row: OpenUploadRow, parts: [PartRow])? {
        let id = PostgresValue.halves(id)
        let take = """
            UPDATE uploads SET epoch = epoch + 1 WHERE high = $1 AND low = $2 RETURNING \(UploadColumns.select)
            """
        // Parts are only replaced with the upload locked, so behind the update they do not change.
        let answers = try change(
            PostgresStatement(take, id), PostgresStatement(Self.selectParts, id))
        return try decode { () throws(PostgresError) in try Self.upload(answers.answer(0), answers.answer(1)) }
    }

    package func uploads() throws(LedgerError) -> [OpenUploadRow] {
        let statement = PostgresStatement("SELECT \(UploadColumns.select) FROM uploads")
        let rows = try read(statement) { (rows) throws(PostgresError) in
            var uploads: [OpenUploadRow] = []
            for row in 0..<rows.count { uploads.append(try UploadColumns.row(rows, row)) }
            return uploads
        }
        return rows.sorted { ($0.id.high, $0.id.low) < ($1.id.high, $1.id.low) }
    }

    // MARK: Declarations

    package func declare(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(LedgerError) {
        // A statement can change each row once: the last declaration of each upload counts.
        var seen: Set<UploadID> = []
        let declared = uploads.reversed().filter { seen.insert($0.id).inserted }
        var statements = declared.isEmpty ? [] : [DeclarationColumns.keep(declared)]
        if !given.isEmpty { statements.append(DeclarationColumns.forget(given)) }
        if !statements.isEmpty { try change(statements) }
    }

    package func declared() throws(LedgerError) -> [UnfinishedUpload] {
        try read(PostgresStatement("SELECT \(DeclarationColumns.select) FROM declared ORDER BY begun")) {
            (rows) throws(PostgresError) in
            var uploads: [UnfinishedUpload] = []
            for row in 0..<rows.count { uploads.append(try DeclarationColumns.upload(rows, row)) }
            return uploads
        }
    }

    // MARK: Parts

    package func replace(
        _ range: Range<UInt64>, by part: PartRow?, _ objects: [ObjectRow], in upload: OpenUploadRow, epoch: UInt64?
    ) throws(LedgerError) {
        if let contradiction = upload.contradiction(range, part, objects, epoch: epoch) { throw contradiction }
        let replacement = PartReplacement(range, by: part, objects, in: upload, epoch: epoch)
        // Usually whole parts are replaced, or none. Otherwise the parts that are cut have to be read first.
        let direct = attempt { (transaction) throws(PostgresError) in _ = try transaction.finish(replacement.whole) }
        guard case .rolledBack(let error) = direct, error.sqlState == LedgerCondition.partial else {
            return try direct.made()
        }
        try attempt { (transaction) throws(PostgresError) in
            let answers = try transaction.run(replacement.opening + [replacement.select])
            let found = try Self.parts(answers.answer(answers.count - 1))
            _ = try transaction.finish(replacement.changes(keeping: found.flatMap { $0.without(range) }))
        }.made()
    }
}

// MARK: Acknowledged uploads

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
        try find(Self.select(ids)) { (rows) throws(PostgresError) in try Self.entries(rows, ids) }
    }

    package func entries(
        _ ids: [UploadID], looking paths: LedgerPaths
    ) throws(LedgerError) -> (entries: [LedgerEntry?], nodes: [NodeRow?]) {
        guard !paths.steps.isEmpty else { return (try entries(ids), []) }
        let statements = [Self.preferIndexes, Self.select(ids), Self.select(paths)]
        return try read(statements, .readCommitted) { (answers) throws(PostgresError) in
            (try Self.entries(answers.answer(1), ids), try Self.nodes(answers.answer(2), paths))
        }
    }

    private static func select(_ ids: [UploadID]) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(Self.columns) FROM unnest($1::int8[], $2::int8[]) AS i (high, low)
                JOIN entries e ON e.high = i.high AND e.low = i.low JOIN nodes n ON n.number = e.node
            """, PostgresValue.halves(Array(Set(ids))))
    }

    private static func entries(_ rows: PostgresRows, _ ids: [UploadID]) throws(PostgresError) -> [LedgerEntry?] {
        var found: [UploadID: LedgerEntry] = [:]
        for entry in try EntryColumns.entries(rows) { found[entry.entry.id] = entry }
        return ids.map { found[$0] }
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

    package func use(of client: UInt64, outside excluded: [UInt64]) throws(LedgerError) -> StoredUse {
        // `UNION` ends even if folders were below each other in a circle.
        let use = """
            WITH RECURSIVE files AS (
                SELECT n.folder, n.size, octet_length(n.name) AS name, count(*) AS entries
                FROM entries e JOIN nodes n ON n.number = e.node WHERE e.client = $1 AND n.form = \(LedgerForm.file)
                GROUP BY n.number),
            leaves AS (
                SELECT folder, count(*) AS files, sum(size) AS bytes, sum(entries) AS entries,
                    sum(entries * name) AS names
                FROM files GROUP BY folder),
            above (leaf, number, folder, name) AS (
                SELECT l.folder, n.number, n.folder, octet_length(n.name) + 1
                FROM leaves l JOIN nodes n ON n.number = l.folder
                UNION
                SELECT a.leaf, n.number, n.folder, octet_length(n.name) + 1
                FROM above a JOIN nodes n ON n.number = a.folder),
            lengths AS (SELECT leaf, sum(name) AS length FROM above GROUP BY leaf)
            SELECT coalesce(sum(l.files), 0)::int8, least(coalesce(sum(l.bytes), 0), \(Int64.max))::int8,
                coalesce(sum(l.entries), 0)::int8,
                least(coalesce(sum(l.names + l.entries * coalesce(p.length, 0)), 0), \(Int64.max))::int8,
                (SELECT count(DISTINCT number) FROM above WHERE number <> ALL ($2))
            FROM leaves l LEFT JOIN lengths p ON p.leaf = l.folder
            """
        let parameters: [PostgresValue] = [.integer(Int64(bitPattern: client)), .numbers(excluded)]
        return try read(PostgresStatement(use, parameters)) { (rows) throws(PostgresError) in
            var use = StoredUse()
            (use.files, use.bytes) = (try rows.number(0, 0), try rows.number(0, 1))
            (use.entries, use.pathBytes) = (try rows.number(0, 2), try rows.number(0, 3))
            use.folders = try rows.number(0, 4)
            return use
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
