import TransferDatabase
import TransferModel
import TransferPorts

/// The row of an intended change in its table.
extension IntendedChange {
    static let names = "form, path, target, object, touch, revision, size, modified, moment"

    static let insert = "INSERT INTO intended (\(names), newest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"

    /// - Parameter newest: the number of the last row of uploads at this time.
    func write(_ statement: Statement, newest: Int64) throws(RecordsError) {
        statement.bind(1, form.rawValue)
        statement.bind(4, Int64(bitPattern: before.object))
        statement.bind(5, before.touch)
        statement.bind(6, before.revision)
        statement.bind(7, Int64(clamping: before.size))
        statement.bind(8, revision)
        statement.bind(9, moment)
        statement.bind(10, newest)
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            try target.utf8.span.withUnsafeBufferPointer { (target) throws(RecordsError) in
                statement.bind(2, text: path)
                statement.bind(3, text: target)
                try statement.run()
            }
        }
    }

    /// Reads the current row of the statement; the first column is the number of the note.
    ///
    /// - Returns: nil for an invalid row.
    init?(_ row: Statement) {
        guard let form = Form(rawValue: row.integer(1)), let size = UInt64(exactly: row.integer(7)) else { return nil }
        let before = ContentVersion(
            object: UInt64(bitPattern: row.integer(4)), revision: row.integer(6), touch: row.integer(5), size: size)
        self.init(
            form, row.text(2), to: row.text(3), before: before, revision: row.optionalInteger(8), at: row.integer(9))
    }
}

extension NotedChange {
    static let select = "SELECT number, \(IntendedChange.names), newest FROM intended ORDER BY number"

    /// - Parameter select: the statement above.
    static func all(_ select: Statement) throws(RecordsError) -> [NotedChange] {
        defer { select.reset() }
        var found: [NotedChange] = []
        while try select.next() {
            found.append(
                NotedChange(
                    IntendedChange(select), under: select.integer(0), newest: select.optionalInteger(10) ?? .min))
        }
        return found
    }
}
