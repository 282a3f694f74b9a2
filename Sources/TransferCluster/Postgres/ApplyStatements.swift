import TransferModel
import TransferPorts
import TransferPostgres

/// The statements of `ClusterLedger.apply`, one for each kind of row however many rows there are.
///
/// A statement sees what was committed before it began, also if it then waits for a lock. So what a lock protects is
/// looked at in the statements behind it: a folder is empty, or a name is free, if it is so behind the lock of the
/// folder.
struct ApplyStatements {
    private let changes: LedgerChanges
    private(set) var all: [PostgresStatement] = []

    /// - Parameter changes: changes that do not contradict themselves.
    init(_ changes: LedgerChanges) {
        self.changes = changes
        lockEpochs()
        lockNodes()
        removeNodes()
        updateNodes()
        insertNodes()
        if !changes.sound.isEmpty { all.append(PostgresLedger.mark(changes.sound, isRotten: false)) }
        lockUploads()
        let (new, live) = counts
        insertObjects(new)
        all += Self.count(live, without: changes.ended.isEmpty ? nil : endedParts)
        removeUploads()
        record()
        if let mail = changes.mail { all += MailStatements.make(mail) }
    }

    private mutating func add(_ sql: String, _ parameters: [PostgresValue]) {
        all.append(PostgresStatement(sql, parameters))
    }

    // MARK: Locks

    private mutating func lockEpochs() {
        if !changes.epochs.isEmpty { all.append(Self.lock(epochs: changes.epochs)) }
    }

    /// Requires epochs to be open until the end of the transaction: a server that closes them waits for it.
    static func lock(epochs: Set<UInt64>) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT \(LedgerCondition.isOpen("count(*) = $2")) FROM (
                SELECT FROM epochs WHERE number = ANY ($1) AND state = \(EpochRow.State.open.rawValue)
                ORDER BY number FOR SHARE) AS locked
            """, [.numbers(epochs.sorted()), .integer(Int64(epochs.count))])
    }

    /// Locks the expected nodes in the order of the array, because the queries are lateral: nodes that are changed
    /// exclusively, and the others against changes.
    private mutating func lockNodes() {
        guard !changes.expected.isEmpty else { return }
        let sorted = changes.expected.sorted { $0.key < $1.key }
        add(
            """
            SELECT \(LedgerCondition.holds("count(kept.number) + count(changed.number) = $4"))
            FROM unnest($1::int8[], $2::int8[], $3::bool[]) AS e (number, touch, changes)
                LEFT JOIN LATERAL (
                    SELECT n.number FROM nodes n WHERE NOT e.changes AND n.number = e.number AND n.touch = e.touch
                    FOR SHARE
                ) AS kept ON true
                LEFT JOIN LATERAL (
                    SELECT n.number FROM nodes n WHERE e.changes AND n.number = e.number AND n.touch = e.touch
                    FOR UPDATE
                ) AS changed ON true
            """,
            [
                .numbers(sorted.map(\.key)), .integers(sorted.map(\.value)),
                .booleans(sorted.map { changes.removed.contains($0.key) || changes.updated[$0.key] != nil }),
                .integer(Int64(sorted.count)),
            ])
    }

    private mutating func lockUploads() {
        guard !changes.ended.isEmpty else { return }
        add(
            """
            SELECT \(LedgerCondition.holds("count(*) = $4")) FROM (
                SELECT FROM uploads u JOIN unnest($1::int8[], $2::int8[], $3::int8[], $5::int8[], $6::bool[])
                    AS e (high, low, epoch, written, untouched)
                    ON u.high = e.high AND u.low = e.low AND u.epoch = e.epoch
                        AND (u.written = e.written OR NOT e.untouched)
                ORDER BY u.high, u.low FOR UPDATE OF u) AS locked
            """,
            PostgresValue.halves(ended) + [
                .numbers(ended.map { changes.ended[$0] ?? 0 }), .integer(Int64(ended.count)),
                .integers(ended.map { changes.untouched[$0] ?? 0 }),
                .booleans(ended.map { changes.untouched[$0] != nil }),
            ])
    }

    private var ended: [UploadID] { changes.ended.keys.sorted { ($0.high, $0.low) < ($1.high, $1.low) } }

    // MARK: The tree

    private mutating func removeNodes() {
        guard !changes.removed.isEmpty else { return }
        let numbers = [PostgresValue.numbers(changes.removed.sorted())]
        add("DELETE FROM extents WHERE node = ANY ($1)", numbers)
        add(Self.deleteEntries("e.node = ANY ($1)"), numbers)
        add("DELETE FROM nodes WHERE number = ANY ($1)", numbers)
    }

    /// Deletes entries with the batches of receipts that then cannot be made any more.
    private static func deleteEntries(_ condition: String) -> String {
        """
        WITH gone AS (DELETE FROM entries e WHERE \(condition) RETURNING e.receipt)
        DELETE FROM receipts WHERE first IN (
            SELECT r.first FROM gone JOIN LATERAL (
                SELECT first, ids FROM receipts WHERE first <= gone.receipt ORDER BY first DESC LIMIT 1) AS r
                ON gone.receipt - r.first < octet_length(r.ids) / \(UploadID.size))
        """
    }

    /// Content never changes, so the columns of the content are left as they are.
    private mutating func updateNodes() {
        guard !changes.updated.isEmpty else { return }
        let nodes = changes.updated.values.sorted { $0.number < $1.number }
        add(
            """
            UPDATE nodes n SET folder = u.folder, touch = u.touch, modified = u.modified, command = u.command,
                nanoseconds = u.nanoseconds, permissions = u.permissions, given = u.given, rotten = u.rotten,
                name = u.name, extra = u.extra
            FROM \(NodeColumns.unnested) AS u (\(NodeColumns.names)) WHERE n.number = u.number
            """, NodeColumns.values(nodes))
    }

    private mutating func insertNodes() {
        let made = changes.made.values.sorted { $0.number < $1.number }
        // Folders first: a conflict about one of them, which another lane of the same push makes as well, costs little.
        for nodes in [made.filter(\.isFolder), made.filter { !$0.isFolder }] where !nodes.isEmpty {
            add(
                "INSERT INTO nodes (\(NodeColumns.names)) SELECT * FROM \(NodeColumns.unnested)",
                NodeColumns.values(nodes))
        }
        if !changes.removed.isEmpty {
            add(
                "SELECT \(LedgerCondition.holds("NOT EXISTS (SELECT FROM nodes WHERE folder = ANY ($1))"))",
                [.numbers(changes.removed.sorted())])
        }
        let extents = changes.extents.flatMap { number, extents in extents.map { (node: number, extent: $0) } }
        guard !extents.isEmpty else { return }
        add(
            """
            INSERT INTO extents (node, lower, upper, object, start)
            SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[])
            """,
            [
                .numbers(extents.map(\.node)), .numbers(extents.map(\.extent.range.lowerBound)),
                .numbers(extents.map(\.extent.range.upperBound)), .numbers(extents.map(\.extent.object.rawValue)),
                .numbers(extents.map(\.extent.start)),
            ])
    }

    // MARK: Objects

    /// New objects with all their live bytes, and the changes of existing ones.
    private var counts: (new: [ObjectRow], live: [ObjectNumber: Int64]) {
        var live = changes.live
        let new = changes.objects.map { object in
            guard let change = live.removeValue(forKey: object.number) else { return object }
            // A count below 0 or above 63 bits is refused by the column.
            let sum = Int64(clamping: object.live).addingReportingOverflow(change)
            return ObjectRow(
                object.number, size: object.size, live: UInt64(bitPattern: sum.overflow ? -1 : sum.partialValue))
        }
        return (new, live)
    }

    private mutating func insertObjects(_ objects: [ObjectRow]) {
        if let insert = Self.insert(objects, orAdd: true) { all.append(insert) }
    }

    /// - Parameter adds: whether the live bytes are added to those of an object that has a row.
    /// - Returns: nil without objects.
    static func insert(_ objects: [ObjectRow], orAdd adds: Bool) -> PostgresStatement? {
        guard !objects.isEmpty else { return nil }
        let sorted = objects.sorted { $0.number < $1.number }
        return PostgresStatement(
            """
            INSERT INTO objects (number, size, live, emptied)
            SELECT o.number, o.size, o.live, CASE WHEN o.live = 0 THEN \(LedgerCondition.clock) END
            FROM unnest($1::int8[], $2::int8[], $3::int8[]) AS o (number, size, live)
            \(adds ? Self.addition : "")
            """,
            [
                .numbers(sorted.map(\.number.rawValue)), .numbers(sorted.map(\.size)), .bits(sorted.map(\.live)),
            ])
    }

    private static let addition = """
        ON CONFLICT (number) DO UPDATE SET live = objects.live + excluded.live,
            emptied = CASE WHEN objects.live + excluded.live = 0 THEN coalesce(objects.emptied, excluded.emptied) END
        """

    /// Parts that are removed, as a condition for the table `parts`, which is called `p`.
    struct RemovedParts {
        /// Its parameters begin with `$3`.
        let condition: String
        let parameters: [PostgresValue]
    }

    private var endedParts: RemovedParts {
        RemovedParts(
            condition: "(p.high, p.low) IN (SELECT * FROM unnest($3::int8[], $4::int8[]))",
            parameters: PostgresValue.halves(ended))
    }

    /// Changes the live bytes of existing objects. An object that gets more must have some, because the sweeper may
    /// delete it otherwise.
    ///
    /// - Parameters:
    ///   - live: bytes that are added, besides those of removed parts.
    ///   - parts: parts that a later statement deletes.
    static func count(_ live: [ObjectNumber: Int64], without parts: RemovedParts?) -> [PostgresStatement] {
        guard !live.isEmpty || parts != nil else { return [] }
        let sorted = live.sorted { $0.key < $1.key }
        let removed = parts.map {
            """
             UNION ALL SELECT x.object, x.lower - x.upper FROM parts p
                CROSS JOIN LATERAL unnest(p.objects, p.lowers, p.uppers) AS x (object, lower, upper)
                WHERE \($0.condition)
            """
        }
        let net = """
            WITH net AS MATERIALIZED (
                SELECT c.number, sum(c.change)::int8 AS change FROM (
                    SELECT * FROM unnest($1::int8[], $2::int8[]) AS c (number, change)\(removed ?? "")
                ) AS c GROUP BY c.number HAVING sum(c.change) <> 0)
            """
        let parameters =
            [.numbers(sorted.map(\.key.rawValue)), .integers(sorted.map(\.value))] + (parts?.parameters ?? [])
        return [
            PostgresStatement(
                """
                \(net) SELECT \(LedgerCondition.holds("count(*) = (SELECT count(*) FROM net)")) FROM (
                    SELECT FROM objects o JOIN net ON o.number = net.number WHERE o.live > 0 OR net.change < 0
                    ORDER BY o.number FOR UPDATE OF o) AS locked
                """, parameters),
            PostgresStatement(
                """
                \(net) UPDATE objects o SET live = o.live + net.change,
                    emptied = CASE WHEN o.live + net.change = 0 THEN \(LedgerCondition.clock) END
                FROM net WHERE o.number = net.number
                """, parameters),
        ]
    }

    private mutating func removeUploads() {
        guard !changes.ended.isEmpty else { return }
        for table in ["parts", "uploads"] {
            add(
                "DELETE FROM \(table) WHERE (high, low) IN (SELECT * FROM unnest($1::int8[], $2::int8[]))",
                PostgresValue.halves(ended))
        }
    }

    // MARK: Entries

    private mutating func record() {
        let rows = changes.storedEntries
        if !rows.isEmpty {
            // An entry that stays, because another server has stored the upload meanwhile, is in the way of the new one.
            add(
                Self.deleteEntries(
                    "(e.high, e.low) IN (SELECT * FROM unnest($1::int8[], $2::int8[])) AND e.node = ANY ($3)"),
                PostgresValue.halves(rows.map(\.entry.id)) + [.numbers(changes.replaceableNodes.sorted())])
            // The order of the rows decides their numbers. A digest that the node has as well is left out.
            add(
                """
                WITH added AS (
                    INSERT INTO entries (\(EntryColumns.names))
                    SELECT e.high, e.low, e.node, e.size, e.begun, e.committed, e.path, e.receipt, e.client, e.run,
                        e.state, e.kind, e.durable, e.replaced, e.sender, CASE WHEN e.digest = n.digest THEN '' ELSE e.digest END
                    FROM \(EntryColumns.unnested) WITH ORDINALITY AS e (\(EntryColumns.names), position)
                        JOIN nodes n ON n.number = e.node AND n.form = \(LedgerForm.file)
                    ORDER BY e.position RETURNING 1)
                SELECT \(LedgerCondition.holds("count(*) = $17")) FROM added
                """, EntryColumns.values(rows) + [.integer(Int64(rows.count))])
        }
        if !rows.isEmpty { all.append(DeclarationColumns.forget(rows.map(\.entry.id))) }
        if let kept = changes.storedReceipts { keep(kept) }
    }

    private mutating func keep(_ kept: KeptReceipts) {
        let batch = kept.signedBatch
        var ids: [UInt8] = []
        ids.reserveCapacity(kept.uploads.count * UploadID.size)
        for id in kept.uploads { id.encode(into: &ids) }
        add(
            """
            INSERT INTO receipts (first, time, version, signature, sender, ids) VALUES ($1, $2, $3::int4, $4, $5, $6)
            ON CONFLICT (first) DO UPDATE SET time = excluded.time, version = excluded.version,
                signature = excluded.signature, sender = excluded.sender, ids = excluded.ids
            """,
            [
                .number(batch.number), .number(batch.time), .shortInteger(Int32(batch.version)),
                .bytes(batch.signature),
                .bytes(batch.sender), .bytes(ids),
            ])
    }
}
