import TransferDatabase
import TransferModel
import TransferPorts

extension CatalogWriter {
    /// - Returns: the notes of the changes.
    func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges {
        let insert = try Statement(IntendedChange.insert, in: database)
        var noted = NotedChanges.none
        try transaction { () throws(RecordsError) in
            let newest = try database.execute("SELECT max(number) FROM uploads") ?? .min
            for change in changes { try change.write(insert, newest: newest) }
            let last = try database.execute("SELECT max(number) FROM intended") ?? 0
            let (first, overflow) = last.subtractingReportingOverflow(Int64(changes.count - 1))
            // Only a damaged file has such numbers. If the largest number is in use, SQLite chooses numbers at random,
            // which are not consecutive.
            guard !overflow, last < .max else {
                throw RecordsError(.damaged, "The catalog is damaged: it has used up its numbers for notes of changes.")
            }
            noted = NotedChanges(first...last, newest: newest)
        }
        return noted
    }

    /// Makes some changes, one after the other. The last step deletes the notes, except for those in `noted.kept`.
    ///
    /// - Returns: how many changes were made, and whether all changes are made and the notes deleted. A part of the
    ///   next change may have been made.
    func completeSome(
        _ noted: NotedChanges, _ changes: ArraySlice<KnownChange>
    ) throws(RecordsError) -> (done: Int, isOver: Bool) {
        var result = (done: 0, isOver: false)
        try transaction { () throws(RecordsError) in
            let start = database.totalChanges
            let statements = try ChangeStatements(database)
            for change in changes {
                guard database.totalChanges - start < Catalog.rowsAtOnce, try foldPaths(of: change, noted) else {
                    return
                }
                try make(change, noted, statements)
                result.done += 1
            }
            try delete(noted)
            result.isOver = true
        }
        return result
    }

    /// If the upload has replaced a file that is kept in the trash, moves the entries of that file to its path in the
    /// trash. Entries of other files stay.
    func keep(_ entry: CatalogEntry) throws(RecordsError) {
        guard let kept = entry.kept, let version = kept.version else { return }
        let statements = try ChangeStatements(database)
        for change in KnownChanges(kept, version, of: entry.path).ofFiles { try make(change, .none, statements) }
    }

    /// Forgets old entries of the paths of a change, so that one step can change the others. Older servers kept any
    /// number of acknowledgements of a path.
    ///
    /// - Returns: false if there are more to forget.
    private func foldPaths(of change: KnownChange, _ noted: NotedChanges) throws(RecordsError) -> Bool {
        let (first, last) = noted.numbers == nil ? (try newestNoted() ?? .min, .max) : (.min, noted.newest)
        for path in change.paths {
            let folded = try fold(path, behind: first, upTo: last, atMost: Catalog.rowsAtOnce)
            guard folded < Catalog.rowsAtOnce else { return false }
        }
        return true
    }

    private func make(
        _ change: KnownChange, _ noted: NotedChanges, _ statements: ChangeStatements
    ) throws(RecordsError) {
        switch change {
        case .forget(let replaced): try forget(replaced, noted.newest, statements)
        case .link(let link): try self.link(link, statements)
        case .move(let move): try self.move(move, noted, statements)
        case .restamp(let change, let after): try restamp(change, as: after, statements)
        }
    }

    /// Deletes notes, except for those in `noted.kept`.
    private func delete(_ noted: NotedChanges) throws(RecordsError) {
        guard let numbers = noted.numbers else { return }
        let delete = try Statement("DELETE FROM intended WHERE number = ?1", in: database)
        for number in numbers where !noted.kept.contains(number) {
            delete.bind(1, number)
            try delete.run()
        }
    }

    private func forget(
        _ file: KnownChanges.Replaced, _ newest: Int64, _ statements: ChangeStatements
    ) throws(RecordsError) {
        statements.forget.bind(2, file.moment)
        statements.forget.bind(3, file.object.map { Int64(bitPattern: $0) })
        statements.forget.bind(4, newest)
        try run(statements.forget, file.path)
    }

    private func link(_ link: PathLink, _ statements: ChangeStatements) throws(RecordsError) {
        let adopt = statements.adopt
        adopt.bind(3, Int64(bitPattern: link.before.object))
        adopt.bind(4, link.before.touch)
        adopt.bind(5, link.before.revision)
        adopt.bind(6, link.after.touch)
        adopt.bind(7, link.after.revision)
        adopt.bind(8, link.moment)
        try run(adopt, link.path, link.target)
    }

    /// Deletes entries of the target only the first time: no earlier file of the target existed any more when the moved
    /// file arrived. If the note stays and the move is recorded again, only entries of this object move, because other
    /// files that later changes have put under the old path stay there.
    private func move(
        _ file: PathMove, _ noted: NotedChanges, _ statements: ChangeStatements
    ) throws(RecordsError) {
        guard !file.path.hasSameBytes(as: file.target) else { return }
        let isMoved = try isNoted(file, in: noted, .move, .cleared)
        let isAlone = file.isAlone || isMoved
        for statement in [statements.clear, statements.move] {
            statement.bind(3, isAlone ? .min : file.moment)
            statement.bind(4, file.object.map { Int64(bitPattern: $0) })
            statement.bind(5, isAlone ? .min : noted.newest)
            try run(statement, file.path, file.target)
        }
        try note(.cleared, of: file, in: noted, .move)
    }

    private func restamp(
        _ change: VersionChange, as after: ContentVersion, _ statements: ChangeStatements
    ) throws(RecordsError) {
        let update = statements.restamp
        update.bind(2, Int64(bitPattern: after.object))
        update.bind(3, after.touch)
        update.bind(4, after.revision)
        update.bind(5, Int64(bitPattern: change.before.object))
        update.bind(6, change.before.touch)
        update.bind(7, change.before.revision)
        update.bind(8, Int64(clamping: change.before.size))
        try run(update, change.path)
        guard !after.hasSameContent(as: change.before) else { return }
        statements.rotten.bind(content: change.before)
        statements.rotten.bind(4, Int64(bitPattern: after.object))
        statements.rotten.bind(5, after.revision)
        try statements.rotten.run()
    }

    func run(_ statement: Statement, _ path: String, _ target: String) throws(RecordsError) {
        try target.utf8.span.withUnsafeBufferPointer { (target) throws(RecordsError) in
            statement.bind(2, text: target)
            try run(statement, path)
        }
    }

    func run(_ statement: Statement, _ path: String) throws(RecordsError) {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            statement.bind(1, text: path)
            try statement.run()
        }
    }
}

/// Statements that each change the rows of one path.
private struct ChangeStatements {
    let forget: Statement
    let adopt: Statement
    let clear: Statement
    let move: Statement
    let restamp: Statement
    let rotten: Statement

    init(_ database: Database) throws(RecordsError) {
        forget = try Statement(
            """
            DELETE FROM uploads WHERE path = ?1 AND (committed <= ?2 OR number <= ?4) AND (?3 IS NULL OR object IS NOT ?3)
            """,
            in: database)
        adopt = try Statement(
            """
            INSERT INTO uploads (id, state, durable, kind, size, begun, committed, algorithm, digest, object, touch, revision,
                path, sender, client)
            SELECT randomblob(16), \(CatalogEntry.State.committed.rawValue), durable, kind, size, ?8, ?8, algorithm, digest, object,
                ?6, ?7, ?2, sender, client
            FROM uploads AS known
            WHERE path = ?1 AND object = ?3 AND touch = ?4 AND revision = ?5 AND digest IS NOT NULL AND NOT EXISTS (
                SELECT 1 FROM uploads WHERE path = ?2 AND object = known.object AND touch = ?6 AND revision = ?7)
            ORDER BY committed DESC LIMIT 1
            """,
            in: database)
        clear = try Statement(
            "DELETE FROM uploads WHERE path = ?2 AND (committed <= ?3 OR number <= ?5) AND object IS NOT ?4",
            in: database)
        move = try Statement(
            """
            UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2
            WHERE path = ?1 AND (committed <= ?3 OR number <= ?5 OR object = ?4)
            """,
            in: database)
        restamp = try Statement(
            """
            UPDATE uploads SET object = ?2, touch = ?3, revision = ?4
            WHERE path = ?1 AND object = ?5 AND touch = ?6 AND revision = ?7 AND size = ?8
            """,
            in: database)
        rotten = try Statement(RottenFile.insertRestamped, in: database)
    }
}
