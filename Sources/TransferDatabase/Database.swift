internal import CSQLite
package import TransferModel

/// One connection to a database file, used by one thread at a time.
package final class Database {
    let handle: OpaquePointer
    package let calls: DatabaseCalls

    /// The name of the database in messages, such as "catalog".
    package let name: String

    /// Milliseconds to wait for another program that is writing: longer than any transaction should take, shorter than
    /// a client's patience.
    private static let patience: Int32 = 5000

    /// Configures SQLite once for the process. The setting only makes SQLite faster, so it does not matter if this
    /// fails.
    private static let isConfigured: Bool = csqlite_count_no_memory() == SQLITE_OK

    /// - Parameters:
    ///   - path: the path of an existing file.
    ///   - name: the name of the database in messages.
    package init(path: String, called name: String, calls: DatabaseCalls = DatabaseCalls()) throws(RecordsError) {
        _ = Self.isConfigured
        if let code = calls.failure?(.open), code != SQLITE_OK {
            throw RecordsError(code: code, saying: String(cString: sqlite3_errstr(code)), of: name)
        }
        var made: OpaquePointer?
        // The connection has no lock, because its caller has one. SQLite is compiled to interpret some names as URIs,
        // but none that begins with a slash or a dot.
        let file = path.hasPrefix("/") ? path : "./" + path
        let code = sqlite3_open_v2(file, &made, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
        guard let made else { throw RecordsError(code: SQLITE_NOMEM, saying: "out of memory", of: name) }
        guard code == SQLITE_OK else {
            let message = String(cString: sqlite3_errmsg(made))
            sqlite3_close_v2(made)
            throw RecordsError(code: code, saying: message, of: name)
        }
        handle = made
        (self.calls, self.name) = (calls, name)
        sqlite3_busy_timeout(handle, Self.patience)
        sqlite3_extended_result_codes(handle, 1)
    }

    deinit {
        // Statements retain their connection, so no statement exists any more.
        sqlite3_close_v2(handle)
    }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Rows that this connection has inserted, changed and deleted so far, including rows that triggers changed.
    package var totalChanges: Int { Int(sqlite3_total_changes(handle)) }

    /// After this call, closing leaves the file as it is.
    package func leaveAlone() {
        _ = csqlite_keep_log(handle)
    }

    /// Runs a statement that is used once.
    ///
    /// - Returns: the first column of the first row as a number; nil if the statement returns no row.
    @discardableResult
    package func execute(_ sql: String) throws(RecordsError) -> Int64? {
        let statement = try Statement(sql, in: self)
        defer { statement.reset() }
        return try statement.next() ? statement.integer(0) : nil
    }

    /// The error for a result code.
    func error(_ code: Int32) -> RecordsError {
        // Takes SQLite's message for its last call, unless a test has replaced the result of the call.
        let said = sqlite3_extended_errcode(handle) == code ? sqlite3_errmsg(handle) : sqlite3_errstr(code)
        return RecordsError(code: code, saying: said.map { String(cString: $0) } ?? "error \(code)", of: name)
    }
}
