import TransferDatabase
import Glibc
import TransferModel
import TransferSystem

/// The files of the catalog on disk: opens them, and moves them aside when they are damaged.
struct CatalogFile: Sendable {
    let path: String

    /// Whether what is written has to survive a crash of the machine.
    let isDurable: Bool

    let calls: DatabaseCalls

    /// Bytes of the largest file that is checked as a whole at the start: some 380,000 uploads, 0.08 s of a core. In a
    /// larger file, damage is noticed when it is read.
    private static let wholeCheckSize: Int64 = 64 << 20

    /// KiB of pages that the writing connection caches: the pages of the index for 200,000 ids, which are random.
    private static let cacheSize = 8192

    private var file: DatabaseFile {
        DatabaseFile(path: path, called: Catalog.name, isDurable: isDurable, calls: calls)
    }

    /// Opens the file for writing. It is made if it is missing, and migrated to the current version.
    ///
    /// - Parameter validates: whether to check for damage.
    func openWriter(validates: Bool) throws(RecordsError) -> CatalogWriter {
        let database = try file.open(cacheSize: Self.cacheSize)
        try CatalogSchema.schema.migrate(database)
        if validates { try file.validate(database, wholeCheckSize: Self.wholeCheckSize) }
        return try CatalogWriter(database, isDurable: isDurable)
    }

    /// Opens the file for reading, after a writer has opened it.
    func openReader() throws(RecordsError) -> CatalogReader {
        try CatalogReader(try Database(path: path, called: Catalog.name, calls: calls))
    }
}

// MARK: Damage

extension CatalogFile {
    /// Renames the files, so that an operator can examine them. No connection may be open.
    ///
    /// - Returns: the new path.
    func moveAside() throws(SystemError) -> String {
        let name = freeName(Timestamp.now.text(.seconds, .basic))
        // The database is renamed first: a log without a database is discarded, but an old log must not be beside a new
        // database.
        for suffix in DatabaseFile.suffixes {
            do throws(SystemError) {
                try system("rename") { rename(path + suffix, name + suffix) }
            } catch {
                guard error.errno == ENOENT else { throw error }
            }
        }
        if isDurable { try file.syncDirectory() }
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
