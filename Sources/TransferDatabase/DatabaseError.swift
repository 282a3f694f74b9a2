internal import CSQLite

/// Why a database could not do what it was asked.
package struct DatabaseError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// The file is no database, or one whose content contradicts itself.
        case damaged
        /// A version that this program does not know, mostly that of a newer one.
        case unknownVersion
        /// No room, or no right to more of it.
        case full
        /// The disk reported an error.
        case failed
        /// Another program kept it for too long.
        case busy
        /// Anything else: no permission, no memory.
        case unavailable
    }

    package let reason: Reason

    /// A sentence for the operator.
    package let message: String

    package init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// Whether the file is of no more use to any program. One of another version is: to the program that wrote it.
    package var condemns: Bool { reason == .damaged }
}

extension DatabaseError {
    /// Bits of an extended result code that are the primary one (sqlite.org/rescode.html).
    private static let primaryBits: Int32 = 0xFF

    /// Decides reason and wording for a result code of SQLite: the one place that does.
    ///
    /// - Parameter database: what the message calls it.
    package init(code: Int32, saying message: String, of database: String) {
        switch code & Self.primaryBits {
        case SQLITE_CORRUPT, SQLITE_NOTADB: self.init(.damaged, "The \(database) is damaged: \(message).")
        case SQLITE_FULL: self.init(.full, "There is no room for the \(database): \(message).")
        case SQLITE_IOERR: self.init(.failed, "The disk failed under the \(database): \(message).")
        case SQLITE_BUSY, SQLITE_LOCKED: self.init(.busy, "Another program holds the \(database): \(message).")
        default: self.init(.unavailable, "The \(database) cannot be used: \(message).")
        }
    }
}
