import TransferModel
import TransferPorts
import TransferPostgres

/// The statements that change mails and deliveries. All of them depend on the revision of the mailboxes, which is one
/// row, so that transactions about mail follow each other.
enum MailStatements {
    /// Deliveries that the recipient can still fetch, as a condition for `d`.
    static let isOpen =
        "d.state IN (\(DeliveryState.allCases.filter(\.isOpen).map { "\($0.rawValue)" }.joined(separator: ", ")))"

    /// - Returns: the statements that make the changes, unless the mailboxes have another revision.
    static func make(_ changes: MailChanges) -> [PostgresStatement] {
        guard !changes.isEmpty else { return [] }
        let expect = PostgresStatement(
            """
            WITH changed AS (UPDATE numbers SET value = value + 1 WHERE name = 'mail' AND value = $1 RETURNING 1)
            SELECT \(LedgerCondition.holds("count(*) = 1")) FROM changed
            """, [.integer(changes.revision)])
        var statements = [expect]
        if !changes.mails.isEmpty { statements.append(keep(changes.mails.map { ($0.key, $0.value) })) }
        if !changes.removed.isEmpty {
            statements.append(
                PostgresStatement(
                    "DELETE FROM deliveries WHERE number = ANY ($1)", [.numbers(changes.removed.sorted())]))
        }
        return statements + keep(changes.deliveries.values.sorted { $0.number < $1.number })
    }

    private static func keep(_ rows: [(id: UploadID, row: MailRow)]) -> PostgresStatement {
        let mails = rows.map(\.row.mail)
        let values: [PostgresValue] =
            PostgresValue.halves(rows.map(\.id)) + [
                .integers(rows.map(\.row.since)), .integers(mails.map(\.queued)), .numbers(mails.map(\.size)),
                .bits(mails.map(\.client)), .integers(mails.map { $0.modified?.seconds }),
                .shortIntegers(mails.map { $0.modified.map { Int32(clamping: $0.nanoseconds) } }),
                .shortIntegers(mails.map { $0.permissions.map { Int32($0) } }),
                .shortIntegers(mails.map { Int32($0.kind.rawValue) }), .booleans(mails.map(\.isUnproven)),
                .booleans(mails.map(\.isRotten)), .byteStrings(mails.map { Array($0.sender.utf8) }),
                .byteStrings(mails.map { Array($0.name.utf8) }), .byteStrings(mails.map(\.digest.column)),
                .byteStrings(mails.map { Array($0.path.string.utf8) }), .byteStrings(mails.map(\.note)),
            ]
        return PostgresStatement(
            """
            INSERT INTO mails (\(MailColumns.names)) SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[],
                $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int4[], $9::int4[], $10::int4[], $11::bool[], $12::bool[],
                $13::bytea[], $14::bytea[], $15::bytea[], $16::bytea[], $17::bytea[])
            ON CONFLICT (high, low) DO UPDATE SET \(MailColumns.updates)
            """, values)
    }

    private static func keep(_ rows: [DeliveryRow]) -> [PostgresStatement] {
        guard let last = rows.last else { return [] }
        let values: [PostgresValue] =
            [.numbers(rows.map(\.number))] + PostgresValue.halves(rows.map(\.id)) + [
                .integers(rows.map(\.changed)), .integers(rows.map(\.since)),
                .shortIntegers(rows.map { Int32($0.state.rawValue) }),
                .byteStrings(rows.map { Array($0.recipient.utf8) }), .byteStrings(rows.map(\.receipt)),
            ]
        return [
            PostgresStatement(
                """
                INSERT INTO deliveries (\(DeliveryColumns.names)) SELECT * FROM unnest($1::int8[], $2::int8[],
                    $3::int8[], $4::int8[], $5::int8[], $6::int4[], $7::bytea[], $8::bytea[])
                ON CONFLICT (number) DO UPDATE SET \(DeliveryColumns.updates)
                """, values),
            PostgresStatement(
                "UPDATE numbers SET value = greatest(value, $1) WHERE name = 'deliveries'", [.number(last.number)]),
        ]
    }
}

/// The columns of a mail.
enum MailColumns {
    private static let all = [
        "high", "low", "since", "queued", "size", "client", "modified", "nanoseconds", "permissions", "kind",
        "unproven",
        "rotten", "sender", "name", "digest", "path", "note",
    ]

    static let names = all.joined(separator: ", ")

    static let updates = all.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", ")

    /// The columns that `mail` reads, from mails that are called `m`.
    static let select = all.map { column in
        "m.\(column)" + (["permissions", "kind"].contains(column) ? "::int4" : "")
    }.joined(separator: ", ")

    static let count = all.count

    static func mail(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> MailRow {
        guard let kind = UInt8(exactly: try rows.integer(row, 9)).flatMap({ ContentKind(rawValue: $0) }),
            let path = RelativePath(stored: try rows.string(row, 15))
        else { throw .wrongForm("a mail has no valid kind or path") }
        var permissions: UInt16?
        if let number = try rows.optionalInteger(row, 8) {
            guard let found = UInt16(exactly: number) else { throw .wrongForm("a mail has the permissions \(number)") }
            permissions = found
        }
        let mail = Mail(
            id: try rows.uploadID(row, 0), sender: try rows.string(row, 12), client: try rows.optionalBits(row, 5),
            name: try rows.string(row, 13), kind: kind, size: try rows.number(row, 4), digest: try rows.digest(row, 14),
            modified: try rows.optionalTimestamp(row, 6), permissions: permissions,
            note: try rows.optionalBytes(row, 16), path: path, queued: try rows.integer(row, 3),
            isUnproven: try rows.boolean(row, 10), isRotten: try rows.boolean(row, 11))
        return MailRow(mail, since: try rows.integer(row, 2))
    }
}

extension PostgresRows {
    /// A time in two columns, of which both or none are NULL.
    func optionalTimestamp(_ row: Int, _ column: Int) throws(PostgresError) -> Timestamp? {
        guard let seconds = try optionalInteger(row, column) else { return nil }
        guard let nanoseconds = UInt32(exactly: try integer(row, column + 1)), nanoseconds < 1_000_000_000 else {
            throw .wrongForm("a time has wrong nanoseconds")
        }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}

/// The columns of a delivery.
enum DeliveryColumns {
    private static let all = ["number", "high", "low", "changed", "since", "state", "recipient", "receipt"]

    static let names = all.joined(separator: ", ")

    static let updates = all.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")

    /// The columns that `delivery` reads, from deliveries that are called `d`.
    static let select = all.map { "d.\($0)" + ($0 == "state" ? "::int4" : "") }.joined(separator: ", ")

    /// - Parameter first: the column of the number.
    static func delivery(
        _ rows: PostgresRows, _ row: Int, from first: Int = 0
    ) throws(PostgresError) -> DeliveryRow {
        guard let state = UInt8(exactly: try rows.integer(row, first + 5)).flatMap({ DeliveryState(rawValue: $0) })
        else { throw .wrongForm("a delivery has the state \(try rows.integer(row, first + 5))") }
        return DeliveryRow(
            number: try rows.number(row, first), id: try rows.uploadID(row, first + 1),
            recipient: try rows.string(row, first + 6), state: state, changed: try rows.integer(row, first + 3),
            since: try rows.integer(row, first + 4), receipt: try rows.optionalBytes(row, first + 7))
    }

    static func deliveries(_ rows: PostgresRows) throws(PostgresError) -> [DeliveryRow] {
        var found: [DeliveryRow] = []
        for row in 0..<rows.count { found.append(try delivery(rows, row)) }
        return found
    }
}

// MARK: - Declarations

/// The columns of what a client has declared of an unfinished upload.
enum DeclarationColumns {
    private static let all = [
        "high", "low", "begun", "size", "client", "run", "modified", "nanoseconds", "permissions", "kind", "function",
        "conflict", "path", "sender",
    ]

    static let names = all.joined(separator: ", ")

    static let select = all.map { column in
        column + (["permissions", "kind", "function", "conflict"].contains(column) ? "::int4" : "")
    }.joined(separator: ", ")

    static func keep(_ uploads: [UnfinishedUpload]) -> PostgresStatement {
        let values: [PostgresValue] =
            PostgresValue.halves(uploads.map(\.id)) + [
                .integers(uploads.map(\.begun)), .bits(uploads.map(\.size)), .bits(uploads.map(\.client)),
                .bits(uploads.map(\.run)), .integers(uploads.map { $0.modified?.seconds }),
                .shortIntegers(uploads.map { $0.modified.map { Int32(clamping: $0.nanoseconds) } }),
                .shortIntegers(uploads.map { $0.permissions.map { Int32($0) } }),
                .shortIntegers(uploads.map { Int32($0.kind.rawValue) }),
                .shortIntegers(uploads.map { Int32($0.function.rawValue) }),
                .shortIntegers(uploads.map { Int32($0.conflict.rawValue) }),
                .byteStrings(uploads.map { Array($0.path.utf8) }), .byteStrings(uploads.map { Array($0.sender.utf8) }),
            ]
        return PostgresStatement(
            """
            INSERT INTO declared (\(names)) SELECT * FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[],
                $5::int8[], $6::int8[], $7::int8[], $8::int4[], $9::int4[], $10::int4[], $11::int4[], $12::int4[],
                $13::bytea[], $14::bytea[])
            ON CONFLICT (high, low) DO UPDATE SET
                \(all.dropFirst(2).map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
            """, values)
    }

    static func forget(_ ids: [UploadID]) -> PostgresStatement {
        PostgresStatement(
            "DELETE FROM declared WHERE (high, low) IN (SELECT * FROM unnest($1::int8[], $2::int8[]))",
            PostgresValue.halves(ids))
    }

    static func upload(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> UnfinishedUpload {
        guard let kind = UInt8(exactly: try rows.integer(row, 9)).flatMap({ ContentKind(rawValue: $0) }),
            let function = UInt8(exactly: try rows.integer(row, 10)).flatMap({ DigestFunction(rawValue: $0) }),
            let conflict = UInt8(exactly: try rows.integer(row, 11)).flatMap({ ConflictPolicy(rawValue: $0) })
        else { throw .wrongForm("a declaration has no valid kind, function or policy") }
        return UnfinishedUpload(
            id: try rows.uploadID(row, 0), path: try rows.string(row, 12), size: try rows.optionalBits(row, 3),
            kind: kind, function: function, conflict: conflict, modified: try rows.optionalTimestamp(row, 6),
            permissions: try rows.optionalInteger(row, 8).flatMap { UInt16(exactly: $0) },
            sender: try rows.string(row, 13), client: try rows.optionalBits(row, 4), begun: try rows.integer(row, 2),
            run: try rows.optionalBits(row, 5))
    }
}
