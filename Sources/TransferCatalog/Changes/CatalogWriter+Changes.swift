import TransferDatabase
import TransferModel

extension CatalogWriter {
    /// Rows in one transaction.
    private static let rowsAtOnce: Int64 = 512

    /// - Returns: what they are kept under.
    func intend(_ changes: [IntendedChange]) throws(DatabaseError) -> Range<Int64> {
        let insert = try Statement(IntendedChange.insert, in: database)
        var numbers: Range<Int64> = 0..<0
        try transaction { () throws(DatabaseError) in
            for change in changes { try change.write(insert) }
            let last = try database.execute("SELECT max(number) FROM intended") ?? 0
            let (first, isFirst) = last.subtractingReportingOverflow(Int64(changes.count - 1))
            let (end, isLast) = last.addingReportingOverflow(1)
            // Only a damaged file has such numbers.
            guard !isFirst, !isLast else {
                throw DatabaseError(.damaged, "The catalog is damaged: it has no more numbers.")
            }
            numbers = first..<end
        }
        return numbers
    }

    /// All but the entries of what is in folders.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in
            try forget(changes.replaced)
            try link(changes.links)
            try moveFiles(changes.moves.filter { $0.object != nil })
            try restamp(changes.versions)
            guard !noted.numbers.isEmpty else { return }
            let delete = try Statement("DELETE FROM intended WHERE number >= ?1 AND number < ?2", in: database)
            delete.bind(1, noted.numbers.lowerBound)
            delete.bind(2, noted.numbers.upperBound)
            try delete.run()
        }
    }

    private func forget(_ replaced: [KnownChanges.Replaced]) throws(DatabaseError) {
        guard !replaced.isEmpty else { return }
        let delete = try Statement(
            "DELETE FROM uploads WHERE path = ?1 AND committed <= ?2 AND object IS NOT ?3", in: database)
        let rotten = try Statement("DELETE FROM rotten WHERE path = ?1 AND object IS NOT ?2", in: database)
        for file in replaced {
            let object = file.object.map { Int64(bitPattern: $0) }
            delete.bind(2, file.moment)
            delete.bind(3, object)
            rotten.bind(2, object)
            try run(delete, file.path)
            try run(rotten, file.path)
        }
    }

    private func link(_ links: [PathLink]) throws(DatabaseError) {
        guard !links.isEmpty else { return }
        let adopt = try Statement(
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
        for link in links {
            adopt.bind(3, Int64(bitPattern: link.before.object))
            adopt.bind(4, link.before.touch)
            adopt.bind(5, link.before.revision)
            adopt.bind(6, link.after.touch)
            adopt.bind(7, link.after.revision)
            adopt.bind(8, link.moment)
            try run(adopt, link.path, link.target)
        }
    }

    private func moveFiles(_ moves: [PathMove]) throws(DatabaseError) {
        guard !moves.isEmpty else { return }
        let delete = try Statement(
            "DELETE FROM uploads WHERE path = ?2 AND ?1 <> ?2 AND committed <= ?3 AND object IS NOT ?4", in: database)
        let move = try Statement(
            """
            UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2
            WHERE path = ?1 AND (committed <= ?3 OR object = ?4)
            """,
            in: database)
        let rotten = try Statement("UPDATE OR REPLACE rotten SET path = ?2 WHERE path = ?1", in: database)
        for file in moves {
            let object = file.object.map { Int64(bitPattern: $0) }
            for statement in [delete, move] {
                statement.bind(3, file.moment)
                statement.bind(4, object)
                try run(statement, file.path, file.target)
            }
            try run(rotten, file.path, file.target)
        }
    }

    /// - Returns: whether there may be more.
    func moveSome(_ move: PathMove) throws(DatabaseError) -> Bool {
        // Behind a slash comes a zero: all paths below the folder are between the two.
        let update = try Statement(
            """
            UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2 || substr(path, length(?1) + 1)
            WHERE number IN (
                SELECT number FROM uploads WHERE path > ?1 || '/' AND path < ?1 || '0' AND committed <= ?3
                LIMIT \(Self.rowsAtOnce))
            """,
            in: database)
        let rotten = try Statement(
            """
            UPDATE OR REPLACE rotten SET path = ?2 || substr(path, length(?1) + 1)
            WHERE path > ?1 || '/' AND path < ?1 || '0'
            """,
            in: database)
        var moved: Int64 = 0
        try transaction { () throws(DatabaseError) in
            update.bind(3, move.moment)
            try run(update, move.path, move.target)
            moved = try database.execute("SELECT changes()") ?? 0
            try run(rotten, move.path, move.target)
        }
        return moved >= Self.rowsAtOnce
    }

    private func run(_ statement: Statement, _ path: String, _ target: String) throws(DatabaseError) {
        try target.utf8.span.withUnsafeBufferPointer { (target) throws(DatabaseError) in
            statement.bind(2, text: target)
            try run(statement, path)
        }
    }

    private func run(_ statement: Statement, _ path: String) throws(DatabaseError) {
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            statement.bind(1, text: path)
            try statement.run()
        }
    }

    private func restamp(_ changes: [VersionChange]) throws(DatabaseError) {
        guard !changes.isEmpty else { return }
        let update = try Statement(
            """
            UPDATE uploads SET object = ?2, touch = ?3, revision = ?4
            WHERE path = ?1 AND object = ?5 AND touch = ?6 AND revision = ?7 AND size = ?8
            """,
            in: database)
        for change in changes {
            update.bind(2, Int64(bitPattern: change.after.object))
            update.bind(3, change.after.touch)
            update.bind(4, change.after.revision)
            update.bind(5, Int64(bitPattern: change.before.object))
            update.bind(6, change.before.touch)
            update.bind(7, change.before.revision)
            update.bind(8, Int64(clamping: change.before.size))
            try run(update, change.path)
        }
    }
}
