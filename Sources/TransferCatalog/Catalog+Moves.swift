package import TransferDatabase
import TransferModel

/// What becomes of entries whose files have got other paths, or other attributes, by this server's own doing.
extension Catalog {
    /// Lets what is known of files, or of all in folders, be known of other paths. What was known of these goes. The entries
    /// get ids that no client has: an upload that comes again is to be stored where it says, and not acknowledged for a file
    /// that is elsewhere now.
    package func move(_ moves: [PathMove]) throws(DatabaseError) {
        guard !moves.isEmpty else { return }
        try settle()
        try connections.write { (writer) throws(DatabaseError) in try writer.moveFiles(moves.filter { !$0.isFolder }) }
        for move in moves where move.isFolder {
            var isOver = false
            // Others have their turn between two steps of a large folder.
            while !isOver {
                try connections.write { (writer) throws(DatabaseError) in isOver = try !writer.moveSome(move) }
            }
        }
    }

    /// Lets files that were given other attributes be the ones that were acknowledged.
    package func restamp(_ changes: [VersionChange]) throws(DatabaseError) {
        guard !changes.isEmpty else { return }
        try settle()
        try connections.write { (writer) throws(DatabaseError) in try writer.restamp(changes) }
    }
}

extension CatalogWriter {
    /// Rows in one transaction.
    private static let rowsAtOnce: Int64 = 512

    func moveFiles(_ moves: [PathMove]) throws(DatabaseError) {
        guard !moves.isEmpty else { return }
        let delete = try Statement("DELETE FROM uploads WHERE path = ?2 AND ?1 <> ?2 AND committed <= ?3", in: database)
        let move = try Statement(
            "UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2 WHERE path = ?1 AND committed <= ?3",
            in: database)
        let rotten = try Statement("UPDATE OR REPLACE rotten SET path = ?2 WHERE path = ?1", in: database)
        try transaction { () throws(DatabaseError) in
            for file in moves {
                try run(delete, file)
                try run(move, file)
                try run(rotten, file, withMoment: false)
            }
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
            try run(update, move)
            moved = try database.execute("SELECT changes()") ?? 0
            try run(rotten, move, withMoment: false)
        }
        return moved >= Self.rowsAtOnce
    }

    private func run(_ statement: Statement, _ move: PathMove, withMoment: Bool = true) throws(DatabaseError) {
        try move.path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            try move.target.utf8.span.withUnsafeBufferPointer { (target) throws(DatabaseError) in
                statement.bind(1, text: path)
                statement.bind(2, text: target)
                if withMoment { statement.bind(3, move.moment) }
                try statement.run()
            }
        }
    }

    func restamp(_ changes: [VersionChange]) throws(DatabaseError) {
        let update = try Statement(
            """
            UPDATE uploads SET object = ?2, touch = ?3, revision = ?4
            WHERE path = ?1 AND object = ?5 AND touch = ?6 AND revision = ?7 AND size = ?8
            """,
            in: database)
        try transaction { () throws(DatabaseError) in
            for change in changes {
                try change.path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
                    update.bind(1, text: path)
                    update.bind(2, Int64(bitPattern: change.after.object))
                    update.bind(3, change.after.touch)
                    update.bind(4, change.after.revision)
                    update.bind(5, Int64(bitPattern: change.before.object))
                    update.bind(6, change.before.touch)
                    update.bind(7, change.before.revision)
                    update.bind(8, Int64(clamping: change.before.size))
                    try update.run()
                }
            }
        }
    }
}
