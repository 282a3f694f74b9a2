import TransferDatabase
import TransferModel
import TransferPorts

/// The row of an unfinished upload in its table.
extension UnfinishedUpload {
    private static let names =
        "id, path, size, kind, function, conflict, modified, nanoseconds, permissions, sender, client, begun, run"

    static let insert =
        "INSERT OR REPLACE INTO unfinished (\(names)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"

    static let select = "SELECT \(names) FROM unfinished ORDER BY begun"

    func write(_ statement: Statement) throws(RecordsError) {
        statement.bind(3, size.map { Int64(clamping: $0) })
        statement.bind(4, Int64(kind.rawValue))
        statement.bind(5, Int64(function.rawValue))
        statement.bind(6, Int64(conflict.rawValue))
        statement.bind(7, modified?.seconds)
        statement.bind(8, modified.map { Int64($0.nanoseconds) })
        statement.bind(9, permissions.map { Int64($0) })
        statement.bind(11, client.map { Int64(bitPattern: $0) })
        statement.bind(12, begun)
        statement.bind(13, run.map { Int64(bitPattern: $0) })
        try id.withBytes { (id) throws(RecordsError) in
            statement.bind(1, blob: id)
            try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
                statement.bind(2, text: path)
                try sender.utf8.span.withUnsafeBufferPointer { (sender) throws(RecordsError) in
                    statement.bind(10, text: sender)
                    try statement.run()
                }
            }
        }
    }

    /// Reads the current row of the statement.
    ///
    /// - Returns: nil for an invalid row.
    init?(_ row: Statement) {
        guard let id = row.withBlob(0, UploadID.init),
            let function = UInt8(exactly: row.integer(4)).flatMap({ DigestFunction(rawValue: $0) }),
            let conflict = UInt8(exactly: row.integer(5)).flatMap({ ConflictPolicy(rawValue: $0) })
        else { return nil }
        self.init(
            id: id, path: row.text(1), size: row.optionalInteger(2).flatMap { UInt64(exactly: $0) },
            kind: UInt8(exactly: row.integer(3)).flatMap { ContentKind(rawValue: $0) } ?? .file, function: function,
            conflict: conflict, modified: Self.modified(row),
            permissions: row.optionalInteger(8).flatMap { UInt16(exactly: $0) }, sender: row.text(9),
            client: row.optionalInteger(10).map { UInt64(bitPattern: $0) }, begun: row.integer(11),
            run: row.optionalInteger(12).map { UInt64(bitPattern: $0) })
    }

    private static func modified(_ row: Statement) -> Timestamp? {
        guard let seconds = row.optionalInteger(6), let nanoseconds = UInt32(exactly: row.integer(7)),
            nanoseconds < 1_000_000_000
        else { return nil }
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
}
