import Glibc
import TransferModel
import TransferSystem

/// The files of the catalog on disk: how they are opened, and what becomes of them when they are damaged.
struct CatalogFile: Sendable {
    let path: String

    /// Whether what is written has to survive a crash of the machine.
    let isDurable: Bool

    let calls: CatalogCalls

    /// What SQLite keeps beside a database in write-ahead mode (sqlite.org/walformat.html).
    static let suffixes = ["", "-wal", "-shm"]

    /// Bytes up to which all of a file is looked through at the start: some 380,000 uploads, 0.08 s of a core. In a larger
    /// one damage is noticed when it is met.
    private static let wholeCheckSize = 64 << 20

    /// Pages of the log after which they are written to the database: 4 MiB. What the log may keep on disk when more came
    /// at once.
    private static let logPages = 1000
    private static let logSize = 16 << 20

    /// KiB of pages kept by the connection that writes: new ids fall anywhere in the index, 200,000 of which take so much.
    private static let cacheSize = 8192

    /// Opens it, made where missing and brought to today's version.
    ///
    /// - Parameter validates: whether to look for damage.
    func openWriter(validates: Bool) throws(CatalogError) -> CatalogWriter {
        try make()
        let database = try Database(path: path, calls: calls)
        // The first that reads the file, so this is where one that is no database shows.
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = \(isDurable ? "FULL" : "OFF")")
        try database.execute("PRAGMA wal_autocheckpoint = \(Self.logPages)")
        try database.execute("PRAGMA journal_size_limit = \(Self.logSize)")
        try database.execute("PRAGMA cache_size = -\(Self.cacheSize)")
        // Nothing in it is secret, and overwriting what is deleted costs time.
        try database.execute("PRAGMA secure_delete = OFF")
        try database.execute("PRAGMA cell_size_check = ON")
        try database.execute("PRAGMA foreign_keys = ON")
        // A server that is confined to its directory cannot make temporary files elsewhere. None should be needed.
        try database.execute("PRAGMA temp_store = MEMORY")
        try CatalogSchema.migrate(database)
        if validates { try validate(database) }
        return try CatalogWriter(database, isDurable: isDurable)
    }

    /// Opens it once a writer has.
    func openReader() throws(CatalogError) -> CatalogReader {
        try CatalogReader(try Database(path: path, calls: calls))
    }

    private func validate(_ database: Database) throws(CatalogError) {
        let pages = try database.execute("PRAGMA page_count") ?? 0
        let pageSize = try database.execute("PRAGMA page_size") ?? 0
        let (size, overflow) = pages.multipliedReportingOverflow(by: pageSize)
        guard !overflow, size <= Self.wholeCheckSize else { return }
        let check = try Statement("PRAGMA quick_check(1)", in: database)
        defer { check.reset() }
        let found = try check.next() ? check.text(0) : "nothing was found"
        guard found == "ok" else { throw CatalogError(.damaged, "The catalog is damaged: \(found).") }
    }

    /// SQLite would make a file that others can read.
    private func make() throws(CatalogError) {
        do throws(SystemError) {
            let made = Descriptor(try system("open") { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) })
            if isDurable { try syncDirectory() }
            _ = consume made
        } catch {
            guard !error.isExisting else { return }
            throw CatalogError(.unavailable, "Cannot make '\(path)': \(error.reason).")
        }
    }

    private func syncDirectory() throws(SystemError) {
        let name = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let directory = Descriptor(
            try system("open") { open(name.isEmpty ? "/" : name, O_RDONLY | O_DIRECTORY | O_CLOEXEC) })
        let number = directory.number
        try system("fsync") { fsync(number) }
    }
}

// MARK: Damage

extension CatalogFile {
    /// Gives the files another name, under which somebody can look at them. No connection may be open.
    ///
    /// - Returns: the new path.
    func moveAside() throws(SystemError) -> String {
        let name = freeName(Timestamp.now.text(.seconds, .basic))
        // The database first: a log without one is thrown away, one with a new database beside it must not be.
        for suffix in Self.suffixes {
            do throws(SystemError) {
                try system("rename") { rename(path + suffix, name + suffix) }
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        if isDurable { try syncDirectory() }
        return name
    }

    private func freeName(_ moment: String) -> String {
        let name = path + ".damaged-" + moment
        var free = name
        var number = 1
        while access(free, F_OK) == 0 {
            free = "\(name)-\(number)"
            number += 1
        }
        return free
    }
}
