import TransferDatabase
package import TransferModel
package import TransferPorts

/// Gives uploads the versions that their files have in a copy of the directory, because a copy keeps neither inodes nor
/// times of change.
extension Catalog {
    /// The recorded home of the directory; nil before the first one is recorded.
    package func home() throws(RecordsError) -> KnownHome? {
        try connections.read { (reader) throws(RecordsError) in
            let select = try Statement(KnownHome.select, in: reader.database)
            return try select.next() ? KnownHome(select) : nil
        }
    }

    /// Records the home of the directory and the rotten files in it, as durably as the catalog is.
    ///
    /// - Parameters:
    ///   - rotten: marks to add to the existing ones.
    ///   - voidsOthers: whether the existing marks are removed. They concern files of another file system, and files of
    ///     this one may have the same numbers by chance.
    package func keep(
        _ home: KnownHome, rotten: [RottenFile], voidsOthers: Bool
    ) throws(RecordsError) {
        try index()
        try connections.write { (writer) throws(RecordsError) in
            try writer.transaction { () throws(RecordsError) in
                try writer.database.execute("DELETE FROM home")
                try home.write(in: writer.database)
                if voidsOthers { try writer.database.execute("DELETE FROM rotten") }
                let insert = try Statement(RottenFile.insert, in: writer.database)
                for file in rotten { try file.write(insert) }
            }
        }
    }

    /// The marks of rotten files, each with the paths that uploads have for the file. Reads all rows if there are any
    /// marks: 1 s for a million uploads.
    package func rottenPaths() throws(RecordsError) -> [(path: String, file: RottenFile)] {
        try index()
        return try connections.read { (reader) throws(RecordsError) in
            guard try reader.hasRotten() else { return [] }
            let select = try Statement(
                """
                SELECT DISTINCT rotten.algorithm, rotten.digest, path, rotten.object, rotten.revision, rotten.size
                FROM uploads CROSS JOIN rotten ON rotten.object = uploads.object AND rotten.revision = uploads.revision
                    AND rotten.size = uploads.size
                """,
                in: reader.database)
            var found: [(path: String, file: RottenFile)] = []
            while try select.next() {
                let version = ContentVersion(
                    object: UInt64(bitPattern: select.integer(3)), revision: select.integer(4), touch: 0,
                    size: UInt64(clamping: select.integer(5)))
                if let file = RottenFile(select, of: version) { found.append((select.text(2), file)) }
            }
            return found
        }
    }

    /// Paths of uploads, in the order of their bytes.
    ///
    /// - Parameter last: only paths after these bytes.
    /// - Returns: up to 128 paths; empty at the end. Bytes that are not UTF-8 are replaced in `paths`; `end` has the
    ///   bytes to continue with.
    package func paths(after last: [UInt8]) throws(RecordsError) -> (paths: [String], end: [UInt8]) {
        try connections.read { (reader) throws(RecordsError) in
            // One search for each path, because a path can have any number of rows.
            let next = try Statement(
                "SELECT path FROM uploads WHERE path > ?1 ORDER BY path LIMIT 1", in: reader.database)
            var (paths, end): ([String], [UInt8]) = ([], last)
            for _ in 0..<Self.pathsAtOnce {
                let found = try end.withUnsafeBufferPointer { (end) throws(RecordsError) -> [UInt8]? in
                    next.bind(1, text: end)
                    defer { next.reset() }
                    return try next.next() ? next.blob(0) : nil
                }
                guard let found else { break }
                paths.append(String(decoding: found, as: UTF8.self))
                end = found
            }
            return (paths, end)
        }
    }

    /// The number of paths that uploads have: 0.1 s of a core for a million.
    package func pathCount() throws(RecordsError) -> Int {
        try index()
        return try connections.read { (reader) throws(RecordsError) in
            Int(clamping: try reader.database.execute("SELECT count(DISTINCT path) FROM uploads") ?? 0)
        }
    }

    /// Records the new versions of adopted files, so that their acknowledgements stay valid. If a path has many
    /// uploads, this takes several steps, and other threads can write between them.
    package func adopt(_ adoptions: Adoptions) throws(RecordsError) {
        guard !adoptions.isEmpty else { return }
        try index()
        var rest = adoptions.files.flatMap { file in
            CatalogEntry.State.allCases.map { CatalogWriter.Adopting(file: file, state: $0, after: .min) }
        }
        var rotten = adoptions.rotten
        repeat {
            try connections.write { (writer) throws(RecordsError) in
                rest = try writer.adoptSome(rest, rotten: rotten)
            }
            rotten = []
        } while !rest.isEmpty
    }

    /// Records that all files of a copied directory are adopted.
    package func endAdoption() throws(RecordsError) {
        try connections.write { (writer) throws(RecordsError) in
            try writer.transaction { () throws(RecordsError) in
                try writer.database.execute("UPDATE home SET adopting = 0")
            }
        }
    }

    /// Paths that are read in one hold of the reader's lock.
    private static let pathsAtOnce = 128
}

extension CatalogWriter {
    /// A file, and one state whose rows with a number above `after` are still to be adopted.
    struct Adopting {
        let file: AdoptedFile
        let state: CatalogEntry.State
        var after: Int64
    }

    /// Rows of one path that one transaction looks at.
    private static let rowsOfPath: Int64 = 512

    /// - Returns: the files and states that have more rows to adopt.
    func adoptSome(_ wanted: [Adopting], rotten: [RottenFile]) throws(RecordsError) -> [Adopting] {
        let last = try Statement(
            """
            SELECT max(number), count(*) FROM (
                SELECT number FROM uploads WHERE path = ?1 AND state = ?2 AND number > ?3
                ORDER BY number LIMIT \(Self.rowsOfPath))
            """,
            in: database)
        let update = try Statement(
            """
            UPDATE uploads SET object = ?4, touch = ?5
            WHERE path = ?1 AND state = ?2 AND number > ?3 AND number <= ?6 AND revision = ?7 AND size = ?8
                AND algorithm = ?9 AND digest = ?10 AND (object IS NOT ?4 OR touch IS NOT ?5)
            """,
            in: database)
        let well = try Statement(RottenFile.delete, in: database)
        let insert = try Statement(RottenFile.insert, in: database)
        var rest: [Adopting] = []
        try transaction { () throws(RecordsError) in
            for adopting in wanted {
                guard let (end, isMore) = try end(of: adopting, last) else { continue }
                update.bind(2, adopting.state.rawValue)
                update.bind(3, adopting.after)
                update.bind(6, end)
                try run(update, adopting.file)
                well.bind(content: adopting.file.version)
                try well.run()
                if isMore { rest.append(Adopting(file: adopting.file, state: adopting.state, after: end)) }
            }
            for file in rotten { try file.write(insert) }
        }
        return rest
    }

    /// The number of the last row of a step, and whether there may be more rows; nil if there are no rows.
    private func end(of adopting: Adopting, _ last: Statement) throws(RecordsError) -> (Int64, Bool)? {
        try adopting.file.path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            last.bind(1, text: path)
            last.bind(2, adopting.state.rawValue)
            last.bind(3, adopting.after)
            defer { last.reset() }
            guard try last.next(), let end = last.optionalInteger(0) else { return nil }
            return (end, last.integer(1) >= Self.rowsOfPath)
        }
    }

    private func run(_ update: Statement, _ file: AdoptedFile) throws(RecordsError) {
        update.bind(4, Int64(bitPattern: file.version.object))
        update.bind(5, file.version.touch)
        update.bind(7, file.version.revision)
        update.bind(8, Int64(clamping: file.version.size))
        update.bind(9, Int64(file.digest.algorithm.rawValue))
        try file.digest.bytes.span.bytes.withUnsafeBytes { (digest) throws(RecordsError) in
            update.bind(10, blob: digest)
            try run(update, file.path)
        }
    }
}

/// The row of the home in its table.
extension KnownHome {
    static let select = "SELECT token, object, touch, catalog, adopting FROM home LIMIT 1"

    /// Reads the current row of the statement.
    init(_ row: Statement) {
        self.init(
            DirectoryHome(
                token: UInt64(bitPattern: row.integer(0)), object: UInt64(bitPattern: row.integer(1)),
                touch: row.integer(2), catalog: UInt64(bitPattern: row.integer(3))),
            isAdopting: row.integer(4) != 0)
    }

    func write(in database: Database) throws(RecordsError) {
        let insert = try Statement(
            "INSERT INTO home (token, object, touch, catalog, adopting) VALUES (?1, ?2, ?3, ?4, ?5)", in: database)
        insert.bind(1, Int64(bitPattern: home.token))
        insert.bind(2, Int64(bitPattern: home.object))
        insert.bind(3, home.touch)
        insert.bind(4, Int64(bitPattern: home.catalog))
        insert.bind(5, isAdopting ? 1 : 0)
        try insert.run()
    }
}
