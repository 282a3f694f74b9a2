import TransferDatabase
import Glibc
package import TransferModel
package import TransferPorts
import TransferSystem

/// Finds the upload to which the file of a path belongs: the upload that was acknowledged last. A server may write the
/// catalog meanwhile. Opening it never moves a damaged catalog aside, creates one or changes its version. It only
/// indexes arrivals, as a server would, and removes marks of rotten files that no upload has any more.
///
/// The paths with their uploads are in a temporary table of SQLite, on disk if it is large, so that memory stays
/// constant, and the catalog itself is read only for moments. Safe to call from any thread.
package final class PathOwners: Sendable {
    private let connection: Locked<ClaimsConnection>

    /// Reads a whole catalog: 2 s of a core for a million uploads.
    ///
    /// - Parameter path: the path of the database.
    /// - Throws: `unavailable` if there is no catalog or it has an older version; `damaged` also if a check of the
    ///   whole file finds damage.
    package init(path: String) throws(RecordsError) {
        guard access(path, F_OK) == 0 else {
            throw RecordsError(.unavailable, "The catalog cannot be opened: \(String(cString: strerror(errno))).")
        }
        connection = Locked(try ClaimsConnection(path: path))
    }

    /// Reads the catalog again. Paths that `find` has found stay marked.
    package func refresh() throws(RecordsError) {
        try connection.withLock { (state) throws(RecordsError) in try state.refresh() }
    }

    /// The number of paths, and the total size that their files should have.
    package func totals() throws(RecordsError) -> CatalogTotals {
        try connection.withLock { (state) throws(RecordsError) in try state.totals() }
    }

    /// The upload to which a stored file belongs. From now on, `missing` leaves out the path.
    ///
    /// - Parameter file: the version of the file; nil if it is not known. If the file may belong to an upload before
    ///   the last one (`mayBeEarlier`), the result is the upload with exactly this version, if there is one: a file
    ///   with two names can get another time under one of them and then be moved over the other.
    /// - Returns: nil for a file that is not in the catalog, or whose row cannot be read.
    package func find(_ path: String, _ file: ContentVersion? = nil) throws(RecordsError) -> CatalogEntry? {
        try connection.withLock { (state) throws(RecordsError) in
            let last = try state.find(path)
            guard let file, let known = last?.version, file.mayBeEarlier(than: known) else { return last }
            return try state.find(path, exactly: file) ?? last
        }
    }

    /// Marks a file as rotten, for a running server and all later ones.
    package func add(rotten file: RottenFile) throws(RecordsError) {
        try connection.withLock { (state) throws(RecordsError) in try state.add(rotten: file) }
    }

    /// Removes the mark of a sound file. Returns at once if no file was marked as rotten when the catalog was opened.
    package func removeRotten(_ file: ContentVersion) throws(RecordsError) {
        try connection.withLock { (state) throws(RecordsError) in try state.removeRotten(file) }
    }

    /// Paths for which `find` was not called, in order.
    ///
    /// - Parameters:
    ///   - last: only paths after this one.
    ///   - count: the most paths to return.
    package func missing(after last: String, _ count: Int) throws(RecordsError) -> [String] {
        try connection.withLock { (state) throws(RecordsError) in try state.missing(after: last, count) }
    }
}

/// The changes that an earlier server has noted and not completed, for a program that keeps servers out of the
/// directory.
extension PathOwners: IntendedChanges {
    package func intended() throws(RecordsError) -> [NotedChange] {
        try connection.withLock { (state) throws(RecordsError) in try state.intended() }
    }

    package func acknowledged(below move: PathMove, after noted: NotedChanges) throws(RecordsError) -> [LateUpload] {
        try connection.withLock { (state) throws(RecordsError) in
            try LateUpload.all(below: move, after: noted) { (body) throws(RecordsError) in try body(state.database) }
        }
    }

    package func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError) {
        try connection.withLock { (state) throws(RecordsError) in
            for folder in changes.folders { while try state.writer.moveSome(folder, noted) {} }
            var (rest, isOver) = (changes.ofFiles[...], false)
            while !isOver {
                let done: Int
                (done, isOver) = try state.writer.completeSome(noted, rest)
                rest = rest.dropFirst(done)
            }
        }
    }
}

/// `@unchecked Sendable`: only used while the lock of the `PathOwners` is held.
private final class ClaimsConnection: @unchecked Sendable {
    let database: Database
    /// If the program may not write the file, arrivals stay unindexed, and the program does not see them.
    let writer: CatalogWriter
    /// Whether any file was marked as rotten when the catalog was opened.
    private let hadRotten: Bool
    /// Files that this process has marked as rotten. A sound file on another disk may have the same numbers, and must
    /// not remove the mark.
    private var found: Set<ContentVersion> = []
    private let mark: Statement
    private let select: Statement
    private let exact: Statement
    private let unfound: Statement

    init(path: String) throws(RecordsError) {
        database = try Database(path: path, called: Catalog.name, calls: DatabaseCalls())
        // Closing must not write the log to the database, because that is the server's task.
        database.leaveAlone()
        try CatalogSchema.schema.requireCurrent(database)
        try Self.validate(database)
        try database.execute("PRAGMA temp_store = FILE")
        try database.execute(
            """
            CREATE TEMP TABLE claims (path TEXT PRIMARY KEY, number INTEGER NOT NULL, found INTEGER NOT NULL)
            WITHOUT ROWID
            """)
        writer = try CatalogWriter(database)
        try? writer.index()
        try Self.fill(database)
        hadRotten = try Self.pruneRotten(database, writer)
        mark = try Statement("UPDATE claims SET found = 1 WHERE path = ?1", in: database)
        select = try Statement(
            """
            SELECT \(CatalogColumns.names) FROM uploads
            WHERE number = (SELECT number FROM claims WHERE path = ?1) AND path = ?1
            """,
            in: database)
        exact = try Statement(
            """
            SELECT \(CatalogColumns.names) FROM uploads
            WHERE path = ?1 AND object = ?2 AND revision = ?3 AND size = ?4 ORDER BY committed DESC LIMIT 1
            """,
            in: database)
        unfound = try Statement(
            "SELECT path FROM claims WHERE path > ?1 AND found = 0 ORDER BY path LIMIT ?2", in: database)
    }

    func refresh() throws(RecordsError) {
        try? writer.index()
        try database.execute(
            """
            DELETE FROM claims WHERE NOT EXISTS (
                SELECT 1 FROM uploads
                WHERE uploads.number = claims.number AND uploads.path = claims.path)
            """)
        try Self.fill(database)
    }

    func intended() throws(RecordsError) -> [NotedChange] {
        try NotedChange.all(try Statement(NotedChange.select, in: database))
    }

    func totals() throws(RecordsError) -> CatalogTotals {
        let count = try database.execute("SELECT count(*) FROM claims") ?? 0
        let statement = try Statement(
            "SELECT total(size) FROM uploads WHERE number IN (SELECT number FROM claims)", in: database)
        defer { statement.reset() }
        let bytes = try statement.next() ? statement.number(0) : 0
        return CatalogTotals(uploads: Int(clamping: count), bytes: UInt64(exactly: bytes.rounded()) ?? .max)
    }

    func find(_ path: String) throws(RecordsError) -> CatalogEntry? {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            mark.bind(1, text: path)
            try mark.run()
            select.bind(1, text: path)
            defer { select.reset() }
            return try select.next() ? CatalogColumns.read(select, from: 0) : nil
        }
    }

    func find(_ path: String, exactly file: ContentVersion) throws(RecordsError) -> CatalogEntry? {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            exact.bind(1, text: path)
            exact.bind(2, Int64(bitPattern: file.object))
            exact.bind(3, file.revision)
            exact.bind(4, Int64(clamping: file.size))
            defer { exact.reset() }
            return try exact.next() ? CatalogColumns.read(exact, from: 0) : nil
        }
    }

    func missing(after last: String, _ count: Int) throws(RecordsError) -> [String] {
        try last.utf8.span.withUnsafeBufferPointer { (last) throws(RecordsError) in
            unfound.bind(1, text: last)
            unfound.bind(2, Int64(count))
            defer { unfound.reset() }
            var paths: [String] = []
            while try unfound.next() { paths.append(unfound.text(0)) }
            return paths
        }
    }

    func add(rotten file: RottenFile) throws(RecordsError) {
        found.insert(file.version.withoutTouch)
        try writer.add(rotten: [file])
    }

    func removeRotten(_ file: ContentVersion) throws(RecordsError) {
        guard hadRotten, !found.contains(file.withoutTouch) else { return }
        try writer.removeRotten([file])
    }

    /// Removes the marks of rotten files that no upload has any more, unless the program may not write.
    ///
    /// - Returns: whether any file was marked as rotten before.
    private static func pruneRotten(
        _ database: Database, _ writer: CatalogWriter
    ) throws(RecordsError) -> Bool {
        guard try database.execute(RottenFile.any) != nil else { return false }
        guard try database.execute("SELECT 1 FROM arrivals LIMIT 1") == nil else { return true }
        var forgotten: [ContentVersion] = []
        let select = try Statement(RottenFile.forgotten, in: database)
        defer { select.reset() }
        while try select.next() {
            forgotten.append(
                ContentVersion(
                    object: UInt64(bitPattern: select.integer(0)), revision: select.integer(1), touch: 0,
                    size: UInt64(clamping: select.integer(2))))
        }
        select.reset()
        try? writer.removeRotten(forgotten)
        return true
    }

    /// Rows are inserted in the order of their age, so that the newest row of each path replaces the others. Paths in
    /// the trash are left out, because clients never received them.
    private static func fill(_ database: Database) throws(RecordsError) {
        let trash = RelativePath.trashFolder.string
        // `0` is the character after the slash, so all paths in the trash are between the two.
        try database.execute(
            """
            INSERT INTO claims SELECT path, number, 0 FROM uploads
            WHERE path < '\(trash)/' OR path >= '\(trash)0' ORDER BY path, committed, number
            ON CONFLICT (path) DO UPDATE SET number = excluded.number
            """)
    }

    private static func validate(_ database: Database) throws(RecordsError) {
        let check = try Statement("PRAGMA main.quick_check(1)", in: database)
        defer { check.reset() }
        let found = try check.next() ? check.text(0) : "the check gave no result"
        guard found == "ok" else { throw RecordsError(.damaged, "The catalog is damaged: \(found).") }
    }
}

extension ContentVersion {
    /// The version without `touch`: names and rights do not matter.
    fileprivate var withoutTouch: ContentVersion {
        ContentVersion(object: object, revision: revision, touch: 0, size: size)
    }
}
