import TransferDatabase
import TransferModel

extension CatalogWriter {
    /// - Returns: what they are kept under.
    func intend(_ changes: [IntendedChange]) throws(DatabaseError) -> NotedChanges {
        let insert = try Statement(IntendedChange.insert, in: database)
        var noted = NotedChanges.none
        try transaction { () throws(DatabaseError) in
            let newest = try database.execute("SELECT max(number) FROM uploads") ?? .min
            for change in changes { try change.write(insert, newest: newest) }
            let last = try database.execute("SELECT max(number) FROM intended") ?? 0
            let (first, overflow) = last.subtractingReportingOverflow(Int64(changes.count - 1))
            // Only a damaged file has such numbers, and behind the last one they would not follow each other.
            guard !overflow, last < .max else {
                throw DatabaseError(.damaged, "The catalog is damaged: it has no more numbers.")
            }
            noted = NotedChanges(first...last, newest: newest)
        }
        return noted
    }

    /// All but the entries of what is in folders.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(DatabaseError) {
        try transaction { () throws(DatabaseError) in
            try forget(changes.replaced, noted.newest)
            try link(changes.links)
            try moveFiles(changes.moves.filter { $0.object != nil }, noted.newest)
            try restamp(changes.versions)
            try delete(noted)
        }
    }

    /// Deletes notes, but for those that are kept.
    private func delete(_ noted: NotedChanges) throws(DatabaseError) {
        guard let numbers = noted.numbers else { return }
        let delete = try Statement("DELETE FROM intended WHERE number = ?1", in: database)
        for number in numbers where !noted.kept.contains(number) {
            delete.bind(1, number)
            try delete.run()
        }
    }

    private func forget(_ replaced: [KnownChanges.Replaced], _ newest: Int64) throws(DatabaseError) {
        guard !replaced.isEmpty else { return }
        let delete = try Statement(
            "DELETE FROM uploads WHERE path = ?1 AND (committed <= ?2 OR number <= ?4) AND object IS NOT ?3",
            in: database)
        delete.bind(4, newest)
        for file in replaced {
            let object = file.object.map { Int64(bitPattern: $0) }
            delete.bind(2, file.moment)
            delete.bind(3, object)
            try run(delete, file.path)
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

    private func moveFiles(_ moves: [PathMove], _ newest: Int64) throws(DatabaseError) {
        guard !moves.isEmpty else { return }
        let delete = try Statement(
            """
            DELETE FROM uploads
            WHERE path = ?2 AND ?1 <> ?2 AND (committed <= ?3 OR number <= ?5) AND object IS NOT ?4
            """,
            in: database)
        let move = try Statement(
            """
            UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2
            WHERE path = ?1 AND (committed <= ?3 OR number <= ?5 OR object = ?4)
            """,
            in: database)
        for file in moves {
            let object = file.object.map { Int64(bitPattern: $0) }
            for statement in [delete, move] {
                statement.bind(3, file.moment)
                statement.bind(4, object)
                statement.bind(5, file.isAlone ? .min : newest)
                try run(statement, file.path, file.target)
            }
        }
    }

    func run(_ statement: Statement, _ path: String, _ target: String) throws(DatabaseError) {
        try target.utf8.span.withUnsafeBufferPointer { (target) throws(DatabaseError) in
            statement.bind(2, text: target)
            try run(statement, path)
        }
    }

    func run(_ statement: Statement, _ path: String) throws(DatabaseError) {
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
        let rotten = try Statement(RottenFile.insertRestamped, in: database)
        // Several changes may be about one file, under one name or several.
        let last = Dictionary(changes.map { (FileNumber($0.after), $0.after) }) { $0.touch < $1.touch ? $1 : $0 }
        for change in changes {
            let after = last[FileNumber(change.after)] ?? change.after
            update.bind(2, Int64(bitPattern: after.object))
            update.bind(3, after.touch)
            update.bind(4, after.revision)
            update.bind(5, Int64(bitPattern: change.before.object))
            update.bind(6, change.before.touch)
            update.bind(7, change.before.revision)
            update.bind(8, Int64(clamping: change.before.size))
            try run(update, change.path)
            guard !after.hasSameContent(as: change.before) else { continue }
            rotten.bind(content: change.before)
            rotten.bind(4, Int64(bitPattern: after.object))
            rotten.bind(5, after.revision)
            try rotten.run()
        }
    }
}

/// What tells a file from others in a batch of changes. Two disks may have one number; they hardly have one size as well.
private struct FileNumber: Hashable {
    let object: UInt64
    let size: UInt64

    init(_ version: ContentVersion) { (object, size) = (version.object, version.size) }
}
