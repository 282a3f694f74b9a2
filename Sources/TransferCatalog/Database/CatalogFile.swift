import TransferDatabase
import Glibc
import TransferModel
import TransferSystem

/// The files of the catalog on disk: how they are opened, and what becomes of them when they are damaged.
struct CatalogFile: Sendable {
    let path: String

    /// Whether what is written has to survive a crash of the machine.
    let isDurable: Bool

    let calls: DatabaseCalls

    /// Bytes up to which all of a file is looked through at the start: some 380,000 uploads, 0.08 s of a core. In a larger
    /// one damage is noticed when it is met.
    private static let wholeCheckSize: Int64 = 64 << 20

    /// KiB of pages kept by the connection that writes: new ids fall anywhere in the index, 200,000 of which take so much.
    private static let cacheSize = 8192

    private var file: DatabaseFile {
        DatabaseFile(path: path, called: Catalog.name, isDurable: isDurable, calls: calls)
    }

    /// Opens it, made where missing and brought to today's version.
    ///
    /// - Parameter validates: whether to look for damage.
    func openWriter(validates: Bool) throws(RecordsError) -> CatalogWriter {
        let database = try file.open(cacheSize: Self.cacheSize)
        try CatalogSchema.schema.migrate(database)
        if validates { try file.validate(database, wholeCheckSize: Self.wholeCheckSize) }
        return try CatalogWriter(database, isDurable: isDurable)
    }

    /// Opens it once a writer has.
    func openReader() throws(RecordsError) -> CatalogReader {
        try CatalogReader(try Database(path: path, called: Catalog.name, calls: calls))
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
