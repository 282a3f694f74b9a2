import TransferDatabase
import TransferModel
import TransferPorts

extension LateUpload {
    // `0` is the character after the slash, so all paths in a folder are between the two.
    private static let select = """
        SELECT number, path, object, path > ?1 || '/' AND path < ?1 || '0' AND object IS NOT NULL
        FROM uploads WHERE number > ?2 ORDER BY number LIMIT \(Catalog.rowsAtOnce)
        """

    /// Reads the next rows of uploads, and returns the late uploads among them.
    ///
    /// - Parameter last: the number of the row after which to start.
    /// - Returns: the uploads, and the number of the last row; nil at the end.
    static func some(
        below move: PathMove, behind last: Int64, in database: Database
    ) throws(RecordsError) -> (found: [LateUpload], end: Int64?) {
        let select = try Statement(Self.select, in: database)
        return try move.path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            select.bind(1, text: path)
            select.bind(2, last)
            defer { select.reset() }
            var (found, end): ([LateUpload], Int64?) = ([], nil)
            while try select.next() {
                end = select.integer(0)
                guard select.integer(3) != 0 else { continue }
                found.append(LateUpload(select.text(1), object: UInt64(bitPattern: select.integer(2))))
            }
            return (found, end)
        }
    }

    /// - Parameter read: calls its argument with the database.
    static func all(
        below move: PathMove, after noted: NotedChanges,
        _ read: ((Database) throws(RecordsError) -> (found: [LateUpload], end: Int64?)) throws(RecordsError)
            -> (found: [LateUpload], end: Int64?)
    ) throws(RecordsError) -> [LateUpload] {
        var (all, last): ([LateUpload], Int64?) = ([], noted.newest)
        while let row = last {
            let page = try read { (database) throws(RecordsError) in
                try some(below: move, behind: row, in: database)
            }
            all += page.found
            last = page.end
        }
        return all
    }
}
