import TransferModel
import TransferPorts
import TransferPostgres

/// The statements of `ClusterLedger.replace`.
///
/// Parts can be cut only by the program, because a part has the digests of the blocks in it. If no part is cut, all
/// statements are in one pipeline (`whole`). Otherwise the parts are read in between: `opening` and `select`, then
/// `changes`.
struct PartReplacement {
    private let range: Range<UInt64>
    private let part: PartRow?
    private let objects: [ObjectRow]
    private let upload: OpenUploadRow
    private let epoch: UInt64?

    init(
        _ range: Range<UInt64>, by part: PartRow?, _ objects: [ObjectRow], in upload: OpenUploadRow, epoch: UInt64?
    ) {
        (self.range, self.part, self.objects, self.upload, self.epoch) = (range, part, objects, upload, epoch)
    }

    private var id: [PostgresValue] { PostgresValue.halves(upload.id) }

    private var bounds: [PostgresValue] { [.number(range.lowerBound), .number(range.upperBound)] }

    /// Everything, if no part is cut.
    var whole: [PostgresStatement] { opening + (range.isEmpty ? [] : [requireWhole]) + changes(keeping: []) }

    /// Locks the epoch, and locks and updates the upload: its epoch and state have to be those that the caller knows.
    var opening: [PostgresStatement] {
        (epoch.map { [ApplyStatements.lock(epochs: [$0])] } ?? []) + [
            PostgresStatement(
                """
                WITH changed AS (
                    UPDATE uploads SET reserved = greatest(reserved, $4), written = $5, reached = coalesce($6, reached),
                        total = CASE WHEN $6 IS NULL THEN total ELSE $7 END, blocks = coalesce($9, blocks),
                        tail = coalesce($10, tail), function = coalesce($8::int4, function)
                    WHERE high = $1 AND low = $2 AND epoch = $3 AND ($6 IS NULL OR reached < $6 OR (
                        reached = $6 AND function = $8::int4 AND blocks = $9 AND tail = $10
                        AND (total IS NULL OR total = $7)))
                    RETURNING 1)
                SELECT \(LedgerCondition.holds("count(*) = 1")) FROM changed
                """,
                id + [.number(upload.epoch), .number(upload.reserved), .integer(upload.written)]
                    + UploadColumns.values(upload.append?.kept))
        ]
    }

    /// Ends the transaction with the code `partial` if a part has bytes in the range and others outside.
    private var requireWhole: PostgresStatement {
        let cut = """
            SELECT FROM parts WHERE high = $1 AND low = $2 AND lower < $4 AND upper > $3 AND (lower < $3 OR upper > $4)
            """
        return PostgresStatement("SELECT \(LedgerCondition.isWhole("NOT EXISTS (\(cut))"))", id + bounds)
    }

    /// Reads the parts that have bytes in the range.
    var select: PostgresStatement {
        PostgresStatement(
            """
            SELECT \(PartColumns.names) FROM parts WHERE high = $1 AND low = $2 AND lower < $4 AND upper > $3
            ORDER BY lower
            """, id + bounds)
    }

    /// Removes the parts that have bytes in the range, and adds the new one.
    ///
    /// - Parameter kept: what is left of the removed parts.
    func changes(keeping kept: [PartRow]) -> [PostgresStatement] {
        let added = kept + (part.map { [$0] } ?? [])
        var live = LedgerChanges()
        for extent in added.flatMap(\.extents) { live.count(Int64(clamping: extent.count), of: extent.object) }
        // New objects bring their own count.
        for object in objects { live.live[object.number] = nil }
        let removed = ApplyStatements.RemovedParts(
            condition: "p.high = $3 AND p.low = $4 AND p.lower < $6 AND p.upper > $5", parameters: id + bounds)

        var statements = ApplyStatements.insert(objects, orAdd: false).map { [$0] } ?? []
        statements += ApplyStatements.count(live.live, without: range.isEmpty ? nil : removed)
        if !range.isEmpty {
            statements.append(
                PostgresStatement(
                    "DELETE FROM parts WHERE high = $1 AND low = $2 AND lower < $4 AND upper > $3", id + bounds))
        }
        return statements + added.map { PartColumns.insert($0, id) }
    }
}

/// The columns of a part.
enum PartColumns {
    /// The columns that `part` reads.
    static let names = "lower, upper, digests, objects, lowers, uppers, starts"

    static func insert(_ part: PartRow, _ id: [PostgresValue]) -> PostgresStatement {
        PostgresStatement(
            "INSERT INTO parts (high, low, \(names)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            id + [
                .number(part.part.range.lowerBound), .number(part.part.range.upperBound), .bytes(part.part.digests),
                .numbers(part.extents.map(\.object.rawValue)), .numbers(part.extents.map(\.range.lowerBound)),
                .numbers(part.extents.map(\.range.upperBound)), .numbers(part.extents.map(\.start)),
            ])
    }

    static func part(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> PartRow {
        let (lower, upper) = (try rows.number(row, 0), try rows.number(row, 1))
        let columns = (
            try numbers(rows, row, 3), try numbers(rows, row, 4), try numbers(rows, row, 5), try numbers(rows, row, 6)
        )
        let count = columns.0.count
        guard lower < upper, columns.1.count == count, columns.2.count == count, columns.3.count == count else {
            throw .wrongForm("a part from \(lower) to \(upper) has \(count) objects")
        }
        var extents: [Extent] = []
        for (object, (from, (to, start))) in zip(columns.0, zip(columns.1, zip(columns.2, columns.3))) {
            extents.append(try Extent(lower: from, upper: to, object: object, start: start))
        }
        if let fault = extents.fault(within: lower..<upper, filled: nil) { throw .wrongForm("a part \(fault)") }
        return PartRow(RecordedPart(lower..<upper, digests: try rows.bytes(row, 2)), extents)
    }

    private static func numbers(_ rows: PostgresRows, _ row: Int, _ column: Int) throws(PostgresError) -> [UInt64] {
        var numbers: [UInt64] = []
        for number in try rows.integers(row, column) {
            guard let number = number.flatMap({ UInt64(exactly: $0) }) else { throw .wrongForm("a part has no number") }
            numbers.append(number)
        }
        return numbers
    }
}

/// The columns of an unfinished upload.
enum UploadColumns {
    static let names = "high, low, epoch, reserved, written, declaration, reached, total, function, blocks, tail"

    /// The columns that `row` reads.
    static let select =
        "high, low, epoch, reserved, written, declaration, reached, total, function::int4, blocks, tail"

    static func values(_ upload: OpenUploadRow) -> [PostgresValue] {
        PostgresValue.halves(upload.id) + [
            .number(upload.epoch), .number(upload.reserved), .integer(upload.written),
            .optionalBytes(upload.append?.declaration),
        ] + values(upload.append?.kept)
    }

    /// The values of the last five columns.
    static func values(_ mark: AppendMark?) -> [PostgresValue] {
        [
            .optionalNumber(mark?.offset), .optionalNumber(mark?.total),
            mark.map { .shortInteger(Int32($0.function.rawValue)) } ?? .null(.shortInteger),
            .optionalBytes(mark?.blocks), .optionalBytes(mark?.tail),
        ]
    }

    static func row(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> OpenUploadRow {
        OpenUploadRow(
            id: try rows.uploadID(row, 0), epoch: try rows.number(row, 2), reserved: try rows.number(row, 3),
            written: try rows.integer(row, 4), append: try append(rows, row))
    }

    private static func append(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> OpenUploadRow.Append? {
        guard let offset = try rows.optionalNumber(row, 6) else { return nil }
        guard let function = UInt8(exactly: try rows.integer(row, 8)).flatMap({ DigestFunction(rawValue: $0) }) else {
            throw .wrongForm("an upload has the function \(try rows.integer(row, 8))")
        }
        return OpenUploadRow.Append(
            declaration: try rows.bytes(row, 5),
            kept: AppendMark(
                function, offset: offset, total: try rows.optionalNumber(row, 7), blocks: try rows.bytes(row, 9),
                tail: try rows.bytes(row, 10)))
    }
}
