import TransferDatabase
internal import TransferModel
import TransferPorts

/// The connection that reads, so that lookups do not wait for a sync.
///
/// `@unchecked Sendable`: only used while the reader's lock of the catalog is held.
final class CatalogReader: @unchecked Sendable {
    let database: Database
    private let select: Statement
    private let byPath: Statement
    private let storedByPath: Statement
    private let page: Statement
    private let pageByPath: Statement
    private let folders: FolderQuery
    private let receipts: Statement
    private let sums: Statement
    private let number: Statement
    private let unfinishedUploads: Statement
    private let intendedChanges: Statement
    let anyRotten: Statement
    let rotten: Statement
    private let begin: Statement
    private let commit: Statement

    /// Rows that are read at a time, with the reader's lock held, when all rows are read.
    private static let pageSize = 512

    /// Sizes are summed up in this unit, with the remainders in a second column, so that neither sum overflows.
    private static let unit: UInt64 = 1 << 20

    /// - Parameter database: a database with the current tables.
    init(_ database: Database) throws(RecordsError) {
        self.database = database
        try database.execute("PRAGMA query_only = ON")
        select = try Statement("SELECT \(CatalogColumns.names) FROM uploads WHERE id = ?1", in: database)
        byPath = try Statement(
            Self.atPath(.committed) + " UNION ALL " + Self.atPath(.alreadyStored), in: database)
        storedByPath = try Statement(Self.atPath(.committed), in: database)
        receipts = try Statement(KeptReceipts.select, in: database)
        page = try Statement(
            "SELECT number, \(CatalogColumns.names) FROM uploads WHERE number > ?1 ORDER BY number LIMIT ?2",
            in: database)
        pageByPath = try Statement(
            """
            SELECT number, state, \(CatalogColumns.names) FROM uploads WHERE (path, state, number) > (?1, ?2, ?3)
            ORDER BY path, state, number LIMIT ?4
            """, in: database)
        folders = try FolderQuery(database)
        begin = try Statement("BEGIN", in: database)
        commit = try Statement("COMMIT", in: database)
        number = try Statement("SELECT count(*) FROM uploads", in: database)
        unfinishedUploads = try Statement(UnfinishedUpload.select, in: database)
        intendedChanges = try Statement(NotedChange.select, in: database)
        anyRotten = try Statement(RottenFile.any, in: database)
        rotten = try Statement(RottenFile.select, in: database)
        sums = try Statement(
            "SELECT state, count(*), total(size / \(Self.unit)), total(size % \(Self.unit)) FROM uploads GROUP BY state",
            in: database)
    }

    /// Selects the newest rows of one path and state, which are consecutive in the index.
    private static func atPath(_ state: CatalogEntry.State) -> String {
        """
        SELECT * FROM (
            SELECT \(CatalogColumns.names) FROM uploads WHERE path = ?1 AND state = \(state.rawValue)
            ORDER BY number DESC LIMIT \(Catalog.mostOfPath))
        """
    }

    /// The entries that have stored a file under a path.
    func stored(at path: String) throws(RecordsError) -> [CatalogEntry] { try entries(at: path, storedByPath) }

    /// Reads all entries in one transaction; without it, each lookup would lock and unlock the file.
    func entries(for ids: [UploadID]) throws(RecordsError) -> [CatalogEntry?] {
        try together(ids) { (id) throws(RecordsError) in try entry(for: id) }
    }

    private func entry(for id: UploadID) throws(RecordsError) -> CatalogEntry? {
        try id.withBytes { (bytes) throws(RecordsError) in
            select.bind(1, blob: bytes)
            defer { select.reset() }
            return try select.next() ? CatalogColumns.read(select, from: 0) : nil
        }
    }

    /// The entries of each path, read in one transaction.
    func entries(at paths: [String]) throws(RecordsError) -> [[CatalogEntry]] {
        try together(paths) { (path) throws(RecordsError) in try entries(at: path, byPath) }
    }

    /// A page of the entries for the files in one folder.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(RecordsError) -> KnownFiles {
        try folders.files(query, after: start)
    }

    /// Looks up all keys; if there are several, in one transaction.
    private func together<Key, Answer>(
        _ keys: [Key], _ ask: (Key) throws(RecordsError) -> Answer
    ) throws(RecordsError) -> [Answer] {
        if keys.count > 1 { try begin.run() }
        var answers: [Answer] = []
        answers.reserveCapacity(keys.count)
        for key in keys { answers.append(try ask(key)) }
        if keys.count > 1 { try commit.run() }
        return answers
    }

    /// The entries of a path, in no order; rows that cannot be read are left out.
    private func entries(at path: String, _ select: Statement) throws(RecordsError) -> [CatalogEntry] {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            select.bind(1, text: path)
            defer { select.reset() }
            var entries: [CatalogEntry] = []
            while try select.next() { if let entry = CatalogColumns.read(select, from: 0) { entries.append(entry) } }
            return entries
        }
    }

    /// - Returns: nil for an unknown number, and for receipts that are not kept.
    func receipts(with number: UInt64) throws(RecordsError) -> KeptReceipts? {
        receipts.bind(1, Int64(clamping: number))
        defer { receipts.reset() }
        guard try receipts.next(), let kept = KeptReceipts(receipts), kept.contain(number) else { return nil }
        return kept
    }

    /// The next rows after a number, up to `pageSize`; empty at the end. `entry` is nil for a row that cannot be read.
    func rows(after number: Int64) throws(RecordsError) -> [(number: Int64, entry: CatalogEntry?)] {
        page.bind(1, number)
        page.bind(2, Int64(Self.pageSize))
        defer { page.reset() }
        var rows: [(number: Int64, entry: CatalogEntry?)] = []
        while try page.next() { rows.append((page.integer(0), CatalogColumns.read(page, from: 1))) }
        return rows
    }

    /// The place of a row in the order of paths, states and numbers.
    struct Place: Sendable {
        /// Bytes of the path as they are stored, UTF-8 or not.
        let path: [UInt8]
        let state: Int64
        let number: Int64

        /// The place that precedes all rows.
        static let start = Place(path: [], state: .min, number: .min)
    }

    /// The next rows in the order of their paths; rows that cannot be read are left out.
    ///
    /// - Returns: the entries, and the place of the last row; nil at the end.
    func rows(behind place: Place) throws(RecordsError) -> (entries: [CatalogEntry], end: Place?) {
        try place.path.withUnsafeBufferPointer { (path) throws(RecordsError) in
            pageByPath.bind(1, text: path)
            pageByPath.bind(2, place.state)
            pageByPath.bind(3, place.number)
            pageByPath.bind(4, Int64(Self.pageSize))
            defer { pageByPath.reset() }
            var (entries, end): ([CatalogEntry], Place?) = ([], nil)
            while try pageByPath.next() {
                end = Place(
                    path: pageByPath.blob(13), state: pageByPath.integer(1), number: pageByPath.integer(0))
                if let entry = CatalogColumns.read(pageByPath, from: 2) { entries.append(entry) }
            }
            return (entries, end)
        }
    }

    func unfinished() throws(RecordsError) -> [UnfinishedUpload] {
        defer { unfinishedUploads.reset() }
        var found: [UnfinishedUpload] = []
        while try unfinishedUploads.next() {
            if let upload = UnfinishedUpload(unfinishedUploads) { found.append(upload) }
        }
        return found
    }

    func intended() throws(RecordsError) -> [NotedChange] { try NotedChange.all(intendedChanges) }

    func totals() throws(RecordsError) -> [CatalogEntry.State: CatalogTotals] {
        defer { sums.reset() }
        var found: [CatalogEntry.State: CatalogTotals] = [:]
        while try sums.next() {
            guard let state = CatalogEntry.State(rawValue: sums.integer(0)) else { continue }
            let (units, overflow) = Self.whole(sums.number(2)).multipliedReportingOverflow(by: Self.unit)
            let (bytes, another) = units.addingReportingOverflow(Self.whole(sums.number(3)))
            found[state] = CatalogTotals(
                uploads: Int(clamping: sums.integer(1)), bytes: overflow || another ? .max : bytes)
        }
        return found
    }

    func count() throws(RecordsError) -> Int {
        defer { number.reset() }
        return try number.next() ? Int(clamping: number.integer(0)) : 0
    }

    private static func whole(_ number: Double) -> UInt64 { UInt64(exactly: number) ?? .max }
}
