internal import CSQLite
package import TransferModel

/// An SQL statement. SQLite prepares it at its first use, because a connection declares many statements and uses few of
/// them.
///
/// One thread at a time uses a statement, and no method calls other code while it accesses a field. So the runtime need
/// not check the fields for overlapping accesses, which took a tenth of the instructions of writing a row.
package final class Statement {
    private let sql: String
    private let database: Database
    private let kind: DatabaseCalls.Call
    @exclusivity(unchecked) private var prepared: OpaquePointer?
    /// The reason why the statement could not be prepared.
    @exclusivity(unchecked) private var refusal: RecordsError?
    /// The first failure to bind a parameter since the last reset.
    @exclusivity(unchecked) private var failure: Int32 = SQLITE_OK

    /// - Throws: the failure that a test has set for preparing statements. Errors of SQLite are thrown by the first
    ///   step.
    package init(_ sql: String, in database: Database, kind: DatabaseCalls.Call = .step) throws(RecordsError) {
        (self.sql, self.database, self.kind) = (sql, database, kind)
        if let code = database.calls.failure?(.prepare), code != SQLITE_OK { throw database.error(code) }
    }

    deinit {
        sqlite3_finalize(prepared)
    }

    /// Nil if the statement cannot be prepared; the next step throws the error.
    private var handle: OpaquePointer? {
        if prepared == nil, refusal == nil { refusal = prepare() }
        return prepared
    }

    private func prepare() -> RecordsError? {
        let code = sqlite3_prepare_v3(database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        // The statements of this program are valid, so this error means that tables or columns are missing.
        if code == SQLITE_ERROR {
            return RecordsError(
                code: SQLITE_CORRUPT, saying: String(cString: sqlite3_errmsg(database.handle)), of: database.name)
        }
        return code == SQLITE_OK && prepared != nil ? nil : database.error(code)
    }

    /// Runs the statement, without reading rows.
    package func run() throws(RecordsError) {
        defer { reset() }
        _ = try next()
    }

    /// - Returns: whether there is another row, whose columns can be read until the next call.
    package func next() throws(RecordsError) -> Bool {
        let code = step()
        if let refusal {
            // A table that is missing now may exist at the next step.
            self.refusal = nil
            throw refusal
        }
        guard code == SQLITE_ROW || code == SQLITE_DONE else { throw database.error(code) }
        return code == SQLITE_ROW
    }

    private func step() -> Int32 {
        if failure != SQLITE_OK { return failure }
        if let code = database.calls.failure?(kind), code != SQLITE_OK { return code }
        let code = sqlite3_step(handle)
        if kind == .commit, code == SQLITE_DONE, let late = database.calls.lateFailure?(), late != SQLITE_OK {
            return late
        }
        return code
    }

    /// Prepares the statement for another run. Bound parameters stay, but their memory may be gone: bind all of them
    /// again.
    package func reset() {
        sqlite3_reset(prepared)
        failure = SQLITE_OK
    }
}

// MARK: Parameters

extension Statement {
    package func bind(_ index: Int32, _ value: Int64) {
        note(sqlite3_bind_int64(handle, index, value))
    }

    package func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { note(sqlite3_bind_null(handle, index)) }
    }

    /// - Parameter bytes: not copied; must stay valid until the statement is reset.
    package func bind(_ index: Int32, blob bytes: UnsafeRawBufferPointer) {
        note(sqlite3_bind_blob(handle, index, bytes.baseAddress, Int32(clamping: bytes.count), nil))
    }

    /// - Parameter text: UTF-8, not copied; must stay valid until the statement is reset.
    package func bind(_ index: Int32, text: UnsafeBufferPointer<UInt8>) {
        // A null pointer would bind NULL instead of an empty text.
        let bytes = UnsafeRawPointer(text.baseAddress ?? StaticString("").utf8Start)
        note(
            sqlite3_bind_text(
                handle, index, bytes.assumingMemoryBound(to: CChar.self), Int32(clamping: text.count), nil))
    }

    private func note(_ code: Int32) {
        if failure == SQLITE_OK { failure = code }
    }
}

// MARK: Columns

extension Statement {
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    package func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    package func number(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// The text of a column; bytes that are not UTF-8 are replaced.
    package func text(_ column: Int32) -> String {
        guard let text = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    package func blob(_ column: Int32) -> [UInt8] { withBlob(column) { Array($0) } }

    package func withBlob<T>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        let bytes = sqlite3_column_blob(handle, column)
        let count = bytes == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return body(UnsafeRawBufferPointer(start: bytes, count: count))
    }
}
