internal import CSQLite
import TransferModel

extension RecordsError {
    /// The bits of the primary code in an extended result code (sqlite.org/rescode.html).
    private static let primaryBits: Int32 = 0xFF

    /// Makes the error for a result code of SQLite. Only this initializer decides its reason and wording.
    ///
    /// - Parameter database: the name of the database in messages.
    init(code: Int32, saying message: String, of database: String) {
        switch code & Self.primaryBits {
        case SQLITE_CORRUPT, SQLITE_NOTADB: self.init(.damaged, "The \(database) is damaged: \(message).")
        case SQLITE_FULL: self.init(.full, "There is no room for the \(database): \(message).")
        case SQLITE_IOERR: self.init(.failed, "The disk failed under the \(database): \(message).")
        case SQLITE_BUSY, SQLITE_LOCKED: self.init(.busy, "Another program holds the \(database): \(message).")
        default: self.init(.unavailable, "The \(database) cannot be used: \(message).")
        }
    }
}
