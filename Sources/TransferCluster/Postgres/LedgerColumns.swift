import TransferModel
import TransferPorts
import TransferPostgres

/// The form of a node in its column.
enum LedgerForm {
    static let file: Int64 = 1
    static let folder: Int64 = 2
    static let link: Int64 = 3
}

// MARK: - Values

extension PostgresValue {
    /// An int8[] of numbers without a sign, which keep their bits.
    static func bits(_ numbers: some Sequence<UInt64?>) -> PostgresValue {
        .integers(numbers.map { $0.map { Int64(bitPattern: $0) } })
    }

    /// An int8[] of numbers that are compared. Those that no row can have become -1.
    static func numbers(_ numbers: some Sequence<UInt64>) -> PostgresValue {
        .integers(numbers.map { Int64(exactly: $0) ?? -1 })
    }

    /// An int8 of a number that is compared; a number that no row can have becomes the largest one.
    static func number(_ number: UInt64) -> PostgresValue { .integer(Int64(clamping: number)) }

    static func optionalNumber(_ number: UInt64?) -> PostgresValue { number.map { .number($0) } ?? .null(.integer) }

    static func optionalBytes(_ bytes: [UInt8]?) -> PostgresValue { bytes.map { .bytes($0) } ?? .null(.bytes) }

    /// The most rows to return.
    static func limit(_ limit: Int) -> PostgresValue { .integer(Int64(max(0, limit))) }

    static func bytes(_ text: String) -> PostgresValue { .bytes(Array(text.utf8)) }

    /// Two int8[] with the halves of IDs.
    static func halves(_ ids: [UploadID]) -> [PostgresValue] { [.bits(ids.map(\.high)), .bits(ids.map(\.low))] }

    /// Two int8 with the halves of an ID.
    static func halves(_ id: UploadID) -> [PostgresValue] {
        [.integer(Int64(bitPattern: id.high)), .integer(Int64(bitPattern: id.low))]
    }
}

extension Digest {
    /// The digest behind a byte for the algorithm.
    var column: [UInt8] { [algorithm.rawValue] + bytes }
}

extension [PostgresRows] {
    /// The answer to one of several statements.
    func answer(_ index: Int) throws(PostgresError) -> PostgresRows {
        guard indices.contains(index) else { throw .wrongForm("there are \(count) answers instead of more") }
        return self[index]
    }
}

extension PostgresError {
    /// The error for a value of a form that this program does not write.
    static func wrongForm(_ what: String) -> PostgresError {
        PostgresError(
            .protocolViolation,
            "The database has a row of a wrong form: \(what). Restore the database, or use a newer program.")
    }
}

extension PostgresRows {
    /// A number that is not negative.
    func number(_ row: Int, _ column: Int) throws(PostgresError) -> UInt64 {
        guard let number = try optionalNumber(row, column) else { throw .wrongForm("a number is missing") }
        return number
    }

    func optionalNumber(_ row: Int, _ column: Int) throws(PostgresError) -> UInt64? {
        guard let number = try optionalInteger(row, column) else { return nil }
        guard let number = UInt64(exactly: number) else { throw .wrongForm("\(number) is negative") }
        return number
    }

    /// A number without a sign that has kept its bits.
    func bits(_ row: Int, _ column: Int) throws(PostgresError) -> UInt64 {
        UInt64(bitPattern: try integer(row, column))
    }

    func optionalBits(_ row: Int, _ column: Int) throws(PostgresError) -> UInt64? {
        try optionalInteger(row, column).map { UInt64(bitPattern: $0) }
    }

    /// A text in a column of bytes.
    func string(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        guard let text = String(validating: try bytes(row, column), as: UTF8.self) else {
            throw .wrongForm("a name is not UTF-8")
        }
        return text
    }

    func digest(_ row: Int, _ column: Int) throws(PostgresError) -> Digest {
        guard let digest = try optionalDigest(row, column) else { throw .wrongForm("a digest is missing") }
        return digest
    }

    func optionalDigest(_ row: Int, _ column: Int) throws(PostgresError) -> Digest? {
        guard let bytes = try optionalBytes(row, column) else { return nil }
        guard let algorithm = bytes.first.flatMap({ DigestAlgorithm(rawValue: $0) }),
            bytes.count == algorithm.function.size + 1
        else { throw .wrongForm("a digest has \(bytes.count) bytes") }
        return Digest(algorithm, Array(bytes.dropFirst()))
    }

    func uploadID(_ row: Int, _ column: Int) throws(PostgresError) -> UploadID {
        UploadID(high: try bits(row, column), low: try bits(row, column + 1))
    }
}

// MARK: - Nodes

/// The columns of a node.
enum NodeColumns {
    /// In the order in which `node` reads them and `values` writes them.
    private static let all = [
        "number", "folder", "touch", "modified", "size", "object", "start", "filled", "command", "nanoseconds",
        "permissions", "form", "given", "rotten", "name", "digest", "extra", "target",
    ]

    static let names = all.joined(separator: ", ")

    /// The columns for a query, with the table's name in it.
    static func select(_ table: String) -> String {
        all.map { column in
            let isShort = column == "permissions" || column == "form"
            return "\(table).\(column)" + (isShort ? "::int4" : "")
        }.joined(separator: ", ")
    }

    /// A table made from the parameters of `values`.
    static let unnested = """
        unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
            $9::int8[], $10::int4[], $11::int4[], $12::int4[], $13::bool[], $14::bool[], $15::bytea[], $16::bytea[], $17::bytea[],
            $18::bytea[])
        """

    static func values(_ nodes: [NodeRow]) -> [PostgresValue] {
        let files = nodes.map(\.file)
        let whole = files.map { file -> (object: ObjectNumber, start: UInt64)? in
            if case .whole(let object, let start)? = file?.content { (object, start) } else { nil }
        }
        let extents = files.map { file -> (filled: UInt64, described: ObjectNumber)? in
            if case .extents(let filled, let described)? = file?.content { (filled, described) } else { nil }
        }
        let objects = zip(whole, extents).map { whole, extents in
            whole?.object ?? extents.flatMap { $0.described == .none ? nil : $0.described }
        }
        return [
            .numbers(nodes.map(\.number)), .numbers(nodes.map(\.folder)), .integers(nodes.map(\.touch)),
            .integers(nodes.map(\.modified.seconds)), .bits(files.map { $0?.size }),
            .bits(objects.map { $0?.rawValue }), .bits(whole.map { $0?.start }), .bits(extents.map { $0?.filled }),
            .bits(files.map { $0?.command }), .shortIntegers(nodes.map { Int32(clamping: $0.modified.nanoseconds) }),
            .shortIntegers(nodes.map { Int32($0.permissions) }), .shortIntegers(nodes.map(form)),
            .booleans(nodes.map(\.hasGivenTime)), .booleans(files.map { $0?.isRotten ?? false }),
            .byteStrings(nodes.map { Array($0.name.string.utf8) }),
            .byteStrings(files.map { $0?.digest.column }),
            .byteStrings(nodes.map { $0.extra.isEmpty ? nil : $0.extra.encoded }), .byteStrings(nodes.map(\.target)),
        ]
    }

    private static func form(_ node: NodeRow) -> Int32 {
        switch node.form {
        case .file: Int32(LedgerForm.file)
        case .folder: Int32(LedgerForm.folder)
        case .link: Int32(LedgerForm.link)
        }
    }

    /// Reads a node.
    ///
    /// - Parameter first: the column of the number.
    static func node(_ rows: PostgresRows, _ row: Int, from first: Int = 0) throws(PostgresError) -> NodeRow {
        guard let nanoseconds = UInt32(exactly: try rows.integer(row, first + 9)), nanoseconds < 1_000_000_000,
            let permissions = UInt16(exactly: try rows.integer(row, first + 10)), permissions <= 0o777
        else { throw .wrongForm("node \(try rows.integer(row, first)) has a wrong time or wrong permissions") }
        var extra = ExtraAttributes()
        if let bytes = try rows.optionalBytes(row, first + 16) {
            guard let found = ExtraAttributes(encoded: bytes) else { throw .wrongForm("attributes are not valid") }
            extra = found
        }
        return NodeRow(
            number: try rows.number(row, first), folder: try rows.number(row, first + 1),
            name: PathKey(try rows.string(row, first + 14)), form: try form(rows, row, first),
            touch: try rows.integer(row, first + 2),
            modified: Timestamp(seconds: try rows.integer(row, first + 3), nanoseconds: nanoseconds),
            hasGivenTime: try rows.boolean(row, first + 12), permissions: permissions, extra: extra)
    }

    private static func form(_ rows: PostgresRows, _ row: Int, _ first: Int) throws(PostgresError) -> NodeRow.Form {
        switch try rows.integer(row, first + 11) {
        case LedgerForm.folder: return .folder
        case LedgerForm.link: return .link(try rows.bytes(row, first + 17))
        case LedgerForm.file:
            let content: StoredBytes =
                if let filled = try rows.optionalNumber(row, first + 7) {
                    .extents(filled: filled, described: try described(rows, row, first))
                } else {
                    .whole(
                        ObjectNumber(rawValue: try rows.number(row, first + 5)), at: try rows.number(row, first + 6))
                }
            var file = FileRow(
                size: try rows.number(row, first + 4), digest: try rows.digest(row, first + 15), content: content,
                command: try rows.optionalBits(row, first + 8))
            file.isRotten = try rows.boolean(row, first + 13)
            return .file(file)
        case let other: throw .wrongForm("a node has the form \(other)")
        }
    }

    private static func described(
        _ rows: PostgresRows, _ row: Int, _ first: Int
    ) throws(PostgresError) -> ObjectNumber {
        try rows.optionalNumber(row, first + 5).map { ObjectNumber(rawValue: $0) } ?? .none
    }

    /// Reads all nodes of an answer.
    static func nodes(_ rows: PostgresRows) throws(PostgresError) -> [NodeRow] {
        var nodes: [NodeRow] = []
        nodes.reserveCapacity(rows.count)
        for row in 0..<rows.count { nodes.append(try node(rows, row)) }
        return nodes
    }
}

// MARK: - Entries

/// The columns of an acknowledged upload.
enum EntryColumns {
    /// The columns that `values` writes.
    static let names = """
        high, low, node, size, begun, committed, path, receipt, client, run, state, kind, durable, replaced, sender,
        digest
        """

    /// A table made from the parameters of `values`.
    static let unnested = """
        unnest($1::int8[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
            $9::int8[], $10::int8[], $11::int4[], $12::int4[], $13::bool[], $14::bool[], $15::bytea[], $16::bytea[])
        """

    static func values(_ rows: [EntryRow]) -> [PostgresValue] {
        let entries = rows.map(\.entry)
        return PostgresValue.halves(entries.map(\.id)) + [
            .numbers(rows.map(\.node)), .numbers(entries.map(\.size)), .integers(entries.map(\.begun)),
            .integers(entries.map(\.committed)), .integers(entries.map { PathHash($0.path).rawValue }),
            .bits(entries.map(\.receipt)), .bits(entries.map(\.client)), .bits(entries.map(\.run)),
            .shortIntegers(entries.map { Int32(clamping: $0.state.rawValue) }),
            .shortIntegers(entries.map { Int32($0.kind.rawValue) }), .booleans(entries.map(\.isDurable)),
            .booleans(entries.map(\.hasReplaced)), .byteStrings(entries.map { Array($0.sender.utf8) }),
            .byteStrings(entries.map { $0.digest?.column }),
        ]
    }

    /// The columns that `entry` reads, from an entry and its node.
    ///
    /// - Parameters:
    ///   - entry: the name of the entries in the query.
    ///   - node: the name of the nodes.
    static func select(_ entry: String, _ node: String) -> String {
        let columns = [
            "number", "high", "low", "node", "size", "begun", "committed", "path", "receipt", "client", "run",
            "state::int4", "kind::int4", "durable", "replaced", "sender",
        ]
        return columns.map { "\(entry).\($0)" }.joined(separator: ", ")
            + ", CASE WHEN \(entry).digest = '' THEN \(node).digest ELSE \(entry).digest END"
    }

    /// Reads an entry from the columns of `select`.
    static func entry(_ rows: PostgresRows, _ row: Int) throws(PostgresError) -> LedgerEntry {
        guard let state = CatalogEntry.State(rawValue: try rows.integer(row, 11)),
            let kind = UInt8(exactly: try rows.integer(row, 12)).flatMap({ ContentKind(rawValue: $0) })
        else { throw .wrongForm("an entry has state \(try rows.integer(row, 11)), kind \(try rows.integer(row, 12))") }
        let entry = CatalogEntry(
            id: try rows.uploadID(row, 1), state: state, path: "", kind: kind, size: try rows.number(row, 4),
            digest: try rows.optionalDigest(row, 16), isDurable: try rows.boolean(row, 13),
            sender: try rows.string(row, 15), client: try rows.optionalBits(row, 9), begun: try rows.integer(row, 5),
            committed: try rows.integer(row, 6), run: try rows.optionalBits(row, 10),
            receipt: try rows.optionalNumber(row, 8), hasReplaced: try rows.boolean(row, 14))
        return LedgerEntry(
            number: try rows.integer(row, 0), entry, at: PathHash(rawValue: try rows.integer(row, 7)),
            of: try rows.number(row, 3))
    }

    static func entries(_ rows: PostgresRows) throws(PostgresError) -> [LedgerEntry] {
        var entries: [LedgerEntry] = []
        entries.reserveCapacity(rows.count)
        for row in 0..<rows.count { entries.append(try entry(rows, row)) }
        return entries
    }
}
