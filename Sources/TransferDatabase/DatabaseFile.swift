import Glibc
package import TransferModel
package import TransferSystem

/// A database on disk: makes its file and opens it for writing.
package struct DatabaseFile: Sendable {
    package let path: String

    /// The name of the database in messages.
    package let name: String

    /// Whether what is written has to survive a crash of the machine.
    package let isDurable: Bool

    package let calls: DatabaseCalls

    /// The files of a database in write-ahead mode (sqlite.org/walformat.html).
    package static let suffixes = ["", "-wal", "-shm"]

    /// `logPages`: number of pages in the log, 4 MiB, at which SQLite writes them to the database. `logSize`: bytes to
    /// which SQLite cuts a log file that was larger.
    private static let logPages = 1000
    private static let logSize = 16 << 20

    package init(path: String, called name: String, isDurable: Bool, calls: DatabaseCalls = DatabaseCalls()) {
        (self.path, self.name, self.isDurable, self.calls) = (path, name, isDurable, calls)
    }

    /// Opens the database for writing, with a log beside it, so that readers don't wait. The file is made if it is
    /// missing.
    ///
    /// - Parameters:
    ///   - cacheSize: KiB of pages that the connection caches.
    ///   - mustExist: whether the file had content before. A missing or empty file is then reported as damaged instead
    ///     of created.
    package func open(cacheSize: Int, mustExist: Bool = false) throws(RecordsError) -> Database {
        if mustExist { try expectContent() } else { try make() }
        let database = try Database(path: path, called: name, calls: calls)
        // This is the first statement that reads the file, so it fails if the file is not a database.
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "OFF")")
        try database.execute("PRAGMA wal_autocheckpoint = \(Self.logPages)")
        try database.execute("PRAGMA journal_size_limit = \(Self.logSize)")
        try database.execute("PRAGMA cache_size = -\(cacheSize)")
        // The content is not secret, and overwriting deleted rows costs time.
        try database.execute("PRAGMA secure_delete = OFF")
        try database.execute("PRAGMA cell_size_check = ON")
        try database.execute("PRAGMA foreign_keys = ON")
        // A server that is confined to its directory cannot create temporary files elsewhere, so SQLite must use memory
        // if it needs one.
        try database.execute("PRAGMA temp_store = MEMORY")
        return database
    }

    /// Checks the file for damage.
    ///
    /// - Parameter wholeCheckSize: bytes of the largest file that is checked as a whole. In a larger file, damage is
    ///   noticed when it is read.
    package func validate(_ database: Database, wholeCheckSize: Int64) throws(RecordsError) {
        let pages = try database.execute("PRAGMA page_count") ?? 0
        let pageSize = try database.execute("PRAGMA page_size") ?? 0
        let (size, overflow) = pages.multipliedReportingOverflow(by: pageSize)
        guard !overflow, size <= wholeCheckSize else { return }
        let check = try Statement("PRAGMA quick_check(1)", in: database)
        defer { check.reset() }
        let found = try check.next() ? check.text(0) : "nothing was found"
        guard found == "ok" else { throw RecordsError(.damaged, "The \(name) is damaged: \(found).") }
    }

    /// Distinguishes the file from another one that gets its path later.
    package struct Number: Equatable, Sendable {
        fileprivate let device: UInt64
        fileprivate let inode: UInt64
    }

    /// The number of the file at the path; nil if there is no file.
    package var number: Number? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Number(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// - Throws: `damaged` for a file that is missing or empty.
    private func expectContent() throws(RecordsError) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_size > 0 else {
            throw RecordsError(
                .damaged, "The \(name), '\(path)', is missing or empty, though it had something in it.")
        }
    }

    /// Creates the file if it is missing. SQLite would create one that other users can read.
    private func make() throws(RecordsError) {
        do throws(SystemError) {
            let made = Descriptor(
                try system("open") { Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) })
            if isDurable { try syncDirectory() }
            _ = consume made
        } catch {
            guard !error.isExisting else { return }
            throw RecordsError(.unavailable, "Cannot make '\(path)': \(error.reason).")
        }
    }

    /// Makes names in the folder of the database durable.
    package func syncDirectory() throws(SystemError) {
        let name = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = Descriptor(
            try system("open") { Glibc.open(name.isEmpty ? "/" : name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
        let number = directory.number
        try system("fsync") { fsync(number) }
    }
}
