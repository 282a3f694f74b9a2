import TransferModel
import TransferPorts
import TransferPostgres

// MARK: Reading all content, and beginning again

extension PostgresLedger {
    package func placed(after place: PlacedFile.Place?, limit: Int) throws(LedgerError) -> [PlacedFile] {
        let statement = PostgresStatement(
            """
            SELECT object, start, number, size, digest, rotten FROM nodes
            WHERE form = \(LedgerForm.file) AND filled IS NULL AND size > 0 AND (object, start, number) > ($1, $2, $3)
            ORDER BY object, start, number LIMIT $4
            """,
            [
                .number(place?.object.rawValue ?? 0), .number(place?.start ?? 0), .number(place?.number ?? 0),
                .limit(limit),
            ])
        return try read(statement) { (rows) throws(PostgresError) in
            var files: [PlacedFile] = []
            for row in 0..<rows.count {
                let place = PlacedFile.Place(
                    ObjectNumber(rawValue: try rows.number(row, 0)), try rows.number(row, 1), try rows.number(row, 2))
                files.append(
                    PlacedFile(
                        place, size: try rows.number(row, 3), digest: try rows.digest(row, 4),
                        isRotten: try rows.boolean(row, 5)))
            }
            return files
        }
    }

    package func discardContents() throws(LedgerError) {
        try change(
            PostgresStatement(
                """
                TRUNCATE nodes, extents, objects, epochs, uploads, parts, entries, receipts, declared, mails, deliveries,
                    people RESTART IDENTITY
                """))
    }
}

// MARK: Rewriting

extension PostgresLedger {
    package func sparse(
        for age: Int64, after object: ObjectNumber, limit: Int
    ) throws(LedgerError) -> [ObjectRow] {
        let statement = PostgresStatement(
            """
            SELECT number, size, live FROM objects o WHERE number > $1 AND live > 0 AND live < size - live AND EXISTS (
                SELECT FROM epochs e WHERE e.number = o.number / \(ObjectNumber.mostSerials)
                    AND \(LedgerCondition.clock) - e.opened > $2)
            ORDER BY number LIMIT $3
            """, [.number(object.rawValue), .integer(age), .limit(limit)])
        return try read(statement) { (rows) throws(PostgresError) in
            var objects: [ObjectRow] = []
            for row in 0..<rows.count {
                objects.append(
                    ObjectRow(
                        ObjectNumber(rawValue: try rows.number(row, 0)), size: try rows.number(row, 1),
                        live: try rows.number(row, 2)))
            }
            return objects
        }
    }

    package func uses(of objects: [ObjectNumber]) throws(LedgerError) -> [ObjectUse] {
        let numbers = [PostgresValue.numbers(Set(objects.map(\.rawValue)).sorted())]
        let nodes = """
            SELECT object, number, touch, start, size, digest, filled IS NULL AND size > 0
            FROM nodes WHERE object = ANY ($1) AND form = \(LedgerForm.file)
            """
        let extents = """
            SELECT e.object, n.number, n.touch, e.start, e.upper - e.lower
            FROM extents e JOIN nodes n ON n.number = e.node WHERE e.object = ANY ($1)
            """
        let parts = """
            SELECT x.object, x.start, x.upper - x.lower FROM parts p
                CROSS JOIN LATERAL unnest(p.objects, p.lowers, p.uppers, p.starts) AS x (object, lower, upper, start)
            WHERE p.objects && $1 AND x.object = ANY ($1)
            """
        return try read([nodes, extents, parts].map { PostgresStatement($0, numbers) }) {
            (answers) throws(PostgresError) in
            var uses = try Self.ofNodes(answers.answer(0))
            let (extents, parts) = (try answers.answer(1), try answers.answer(2))
            for row in 0..<extents.count {
                let range = try Self.range(extents, row, 3)
                uses.append(
                    ObjectUse(
                        ObjectNumber(rawValue: try extents.number(row, 0)), range, for: .content,
                        by: try extents.number(row, 1), touch: try extents.integer(row, 2)))
            }
            for row in 0..<parts.count {
                let range = try Self.range(parts, row, 1)
                uses.append(ObjectUse(ObjectNumber(rawValue: try parts.number(row, 0)), range, for: .part))
            }
            return uses
        }
    }

    private static func ofNodes(_ rows: PostgresRows) throws(PostgresError) -> [ObjectUse] {
        var uses: [ObjectUse] = []
        for row in 0..<rows.count {
            let isContent = try rows.boolean(row, 6)
            let range = isContent ? try range(rows, row, 3) : 0..<0
            uses.append(
                ObjectUse(
                    ObjectNumber(rawValue: try rows.number(row, 0)), range,
                    for: isContent ? .content : .description(size: try rows.number(row, 4), try rows.digest(row, 5)),
                    by: try rows.number(row, 1), touch: try rows.integer(row, 2)))
        }
        return uses
    }

    /// A range from its start and the number of bytes behind.
    private static func range(_ rows: PostgresRows, _ row: Int, _ first: Int) throws(PostgresError) -> Range<UInt64> {
        let (start, count) = (try rows.number(row, first), try rows.number(row, first + 1))
        // Both numbers have 63 bits.
        return start..<start + count
    }

    package func rewrite(_ rewrite: ObjectRewrite) throws(LedgerError) {
        if let contradiction = rewrite.contradiction { throw contradiction }
        let nodes = rewrite.nodes.sorted { $0.key < $1.key }
        let numbers = PostgresValue.numbers(nodes.map(\.key))
        let emptied = rewrite.emptied.sorted { $0.key < $1.key }
        let old = PostgresValue.numbers(emptied.map(\.key.rawValue))
        let new = PostgresValue.number(rewrite.object.number.rawValue)
        let places: [PostgresValue] = [
            numbers, new, .numbers(rewrite.moves.map(\.from.rawValue)),
            .numbers(rewrite.moves.map(\.range.lowerBound)), .numbers(rewrite.moves.map(\.range.upperBound)),
            .numbers(rewrite.moves.map(\.start)),
        ]
        let moves = "unnest($3::int8[], $4::int8[], $5::int8[], $6::int8[]) AS m (object, lower, upper, start)"
        let statements = [
            ApplyStatements.lock(epochs: [rewrite.object.number.epoch]),
            PostgresStatement(
                """
                SELECT \(LedgerCondition.holds("count(*) = $3")) FROM (
                    SELECT FROM nodes n JOIN unnest($1::int8[], $2::int8[]) AS e (number, touch)
                        ON n.number = e.number AND n.touch = e.touch
                    ORDER BY n.number FOR UPDATE OF n) AS locked
                """, [numbers, .integers(nodes.map(\.value)), .integer(Int64(nodes.count))]),
            PostgresStatement(
                """
                UPDATE nodes n SET object = $2, start = n.start - m.lower + m.start FROM \(moves)
                WHERE n.number = ANY ($1) AND n.object = m.object AND n.filled IS NULL AND n.size > 0
                    AND n.start >= m.lower AND n.start + n.size <= m.upper
                """, places),
            PostgresStatement(
                """
                UPDATE extents e SET object = $2, start = e.start - m.lower + m.start FROM \(moves)
                WHERE e.node = ANY ($1) AND e.object = m.object
                    AND e.start >= m.lower AND e.start + (e.upper - e.lower) <= m.upper
                """, places),
            PostgresStatement(
                """
                UPDATE nodes SET object = $2
                WHERE number = ANY ($1) AND object = ANY ($3) AND (filled IS NOT NULL OR size = 0)
                """, [numbers, new, old]),
            PostgresStatement("UPDATE nodes SET touch = touch + 1 WHERE number = ANY ($1)", [numbers]),
            PostgresStatement("SELECT \(LedgerCondition.holds(Self.isUnused))", [numbers, old]),
            PostgresStatement(
                """
                SELECT \(LedgerCondition.holds("count(*) = $3")) FROM (
                    SELECT FROM objects o JOIN unnest($1::int8[], $2::int8[]) AS e (number, live)
                        ON o.number = e.number AND o.live = e.live
                    ORDER BY o.number FOR UPDATE OF o) AS locked
                """, [old, .numbers(emptied.map(\.value)), .integer(Int64(emptied.count))]),
            PostgresStatement(
                "UPDATE objects SET live = 0, emptied = \(LedgerCondition.clock) WHERE number = ANY ($1)", [old]),
        ]
        try change(statements + (ApplyStatements.insert([rewrite.object], orAdd: false).map { [$0] } ?? []))
    }

    /// Whether none of the files uses an old object.
    private static let isUnused = """
        NOT EXISTS (SELECT FROM nodes WHERE number = ANY ($1) AND object = ANY ($2))
            AND NOT EXISTS (SELECT FROM extents WHERE node = ANY ($1) AND object = ANY ($2))
        """
}
