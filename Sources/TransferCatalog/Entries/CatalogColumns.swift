import TransferDatabase
internal import TransferModel
import TransferPorts
internal import TransferSystem

/// The row of an entry. Only this type knows the order of the columns.
enum CatalogColumns {
    /// The columns that `read` expects.
    static let names =
        "id, state, durable, kind, size, begun, committed, algorithm, digest, object, touch, path, sender, run, revision, receipt, client, replaced"

    private static let count = 18

    private static let parameters = (1...count).map { "?\($0)" }.joined(separator: ", ")

    /// Inserts the row of an entry. If the table has a row with the same id, the table stays as it is.
    static let insert = "INSERT INTO uploads (\(names)) VALUES (\(parameters)) ON CONFLICT (id) DO NOTHING"

    /// Inserts an entry, or replaces the row with its id. Updates have a trigger, so SQLite copies each page that the
    /// statement changes in order to undo it alone (sqlite.org/tempfiles.html, statement journals): it takes nearly
    /// twice as long as `insert`.
    static let upsert =
        "INSERT INTO uploads (\(names)) VALUES (\(parameters)) ON CONFLICT (id) DO UPDATE SET "
        + updates

    /// Like `upsert`, but gives the row a number (`numberParameter`), even if a row with the id exists.
    static let numberedUpsert =
        "INSERT INTO uploads (\(names), number) VALUES (\(parameters), ?\(numberParameter)) ON CONFLICT (id) DO UPDATE SET "
        + updates + ", number = excluded.number"

    /// If the row of another file has the id of an upload, gives that row a random id. An upload that is repeated while
    /// its file is being moved is stored again, and the move still finds the entry of the first file.
    static let keepOther = """
        UPDATE uploads SET id = randomblob(16), receipt = NULL WHERE id = ?1 AND object IS NOT ?2
        """

    static let numberParameter = Int32(count + 1)

    private static let updates = names.split(separator: ", ").dropFirst().map { "\($0) = excluded.\($0)" }
        .joined(separator: ", ")

    /// Binds an entry and runs the statement. The values are not copied before SQLite writes them to the database's
    /// pages.
    static func run(_ statement: Statement, _ entry: CatalogEntry) throws(RecordsError) {
        statement.bind(2, entry.state.rawValue)
        statement.bind(3, entry.isDurable ? 1 : 0)
        statement.bind(4, Int64(entry.kind.rawValue))
        statement.bind(5, Int64(clamping: entry.size))
        statement.bind(6, entry.begun)
        statement.bind(7, entry.committed)
        statement.bind(8, entry.digest.map { Int64($0.algorithm.rawValue) })
        statement.bind(10, entry.version.map { Int64(bitPattern: $0.object) })
        statement.bind(11, entry.version?.touch)
        statement.bind(14, entry.run.map { Int64(bitPattern: $0) })
        statement.bind(15, entry.version?.revision)
        statement.bind(16, entry.receipt.map { Int64(bitPattern: $0) })
        statement.bind(17, entry.client.map { Int64(bitPattern: $0) })
        statement.bind(18, entry.hasReplaced ? 1 : nil)
        try entry.id.withBytes { (id) throws(RecordsError) in
            statement.bind(1, blob: id)
            try runLendingDigest(statement, entry)
        }
    }

    /// Binds the parameters of `keepOther` and runs it.
    static func keepOther(_ statement: Statement, _ entry: CatalogEntry) throws(RecordsError) {
        statement.bind(2, entry.version.map { Int64(bitPattern: $0.object) })
        try entry.id.withBytes { (id) throws(RecordsError) in
            statement.bind(1, blob: id)
            try statement.run()
        }
    }

    private static func runLendingDigest(_ statement: Statement, _ entry: CatalogEntry) throws(RecordsError) {
        guard let digest = entry.digest else {
            statement.bind(9, nil)
            return try runLendingTexts(statement, entry)
        }
        try digest.bytes.span.bytes.withUnsafeBytes { (digest) throws(RecordsError) in
            statement.bind(9, blob: digest)
            try runLendingTexts(statement, entry)
        }
    }

    private static func runLendingTexts(_ statement: Statement, _ entry: CatalogEntry) throws(RecordsError) {
        try entry.path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            statement.bind(12, text: path)
            try entry.sender.utf8.span.withUnsafeBufferPointer { (sender) throws(RecordsError) in
                statement.bind(13, text: sender)
                try statement.run()
            }
        }
    }

    /// Reads the current row of the statement.
    ///
    /// - Parameter first: the column of the id.
    /// - Returns: nil for an invalid row: its upload counts as unknown.
    static func read(_ row: Statement, from first: Int32) -> CatalogEntry? {
        guard let id = row.withBlob(first, UploadID.init),
            let state = CatalogEntry.State(rawValue: row.integer(first + 1)),
            let size = UInt64(exactly: row.integer(first + 4)), let digest = digest(row, first + 7)
        else { return nil }
        return CatalogEntry(
            id: id, state: state, path: row.text(first + 11),
            kind: UInt8(exactly: row.integer(first + 3)).flatMap { ContentKind(rawValue: $0) } ?? .file, size: size,
            digest: digest, isDurable: row.integer(first + 2) != 0, sender: row.text(first + 12),
            client: row.optionalInteger(first + 16).map { UInt64(bitPattern: $0) }, begun: row.integer(first + 5),
            committed: row.optionalInteger(first + 6) ?? row.integer(first + 5),
            run: row.optionalInteger(first + 13).map { UInt64(bitPattern: $0) },
            version: version(row, first, size: size),
            receipt: row.optionalInteger(first + 15).map { UInt64(bitPattern: $0) },
            hasReplaced: row.integer(first + 17) != 0)
    }

    private static func version(_ row: Statement, _ first: Int32, size: UInt64) -> ContentVersion? {
        guard let object = row.optionalInteger(first + 9), let touch = row.optionalInteger(first + 10),
            let revision = row.optionalInteger(first + 14)
        else { return nil }
        return ContentVersion(object: UInt64(bitPattern: object), revision: revision, touch: touch, size: size)
    }

    /// - Returns: nil for an invalid digest; `.some(nil)` if there is no digest.
    static func digest(_ row: Statement, _ column: Int32) -> Digest?? {
        guard !row.isNull(column) else { return .some(nil) }
        let bytes = row.blob(column + 1)
        guard let algorithm = UInt8(exactly: row.integer(column)).flatMap({ DigestAlgorithm(rawValue: $0) }),
            bytes.count == algorithm.function.size
        else { return nil }
        return .some(Digest(algorithm, bytes))
    }
}

extension UploadID {
    /// Calls `body` with the bytes in network byte order.
    func withBytes<T>(_ body: (UnsafeRawBufferPointer) throws(RecordsError) -> T) throws(RecordsError) -> T {
        try withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }

    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count == Self.size else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}
