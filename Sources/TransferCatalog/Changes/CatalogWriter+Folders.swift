import TransferDatabase
import TransferModel

/// Folders that have another path, with all that is known of what is in them: a step at a time, because there may be a lot.
extension CatalogWriter {
    // Behind a slash comes a zero: all paths below a folder are between the two.
    private static let isBelow = "path > ?1 || '/' AND path < ?1 || '0'"

    /// Of these notes: others with the same paths may be about another object.
    private static let isOfNotes = "path = ?1 AND target = ?2 AND number BETWEEN ?3 AND ?4 AND form = ?5"

    /// Lets some of what is in a folder be known below its new path. What was known there before goes first, once: nothing was
    /// there any more when the folder came.
    ///
    /// - Parameter noted: the notes that the move was noted with.
    /// - Returns: whether there may be more.
    func moveSome(_ move: PathMove, _ noted: NotedChanges) throws(DatabaseError) -> Bool {
        var isMore = true
        // The note stays until all is done, and that is synced.
        try transaction(isSynced: noted.numbers == nil) { () throws(DatabaseError) in
            // What was not begun need not be undone.
            let back = PathMove(move.target, to: move.path, at: move.moment)
            guard try !isNoted(back, in: noted, .folder, cleared: false) else { return isMore = false }
            if try isNoted(move, in: noted, .folder, cleared: false) {
                try clearSome(move, noted)
            } else {
                isMore = try relocateSome(move, noted.newest)
            }
        }
        return isMore
    }

    /// Whether a move was noted.
    ///
    /// - Parameter isCleared: whether what was known under the new path has to have gone, or to be known still.
    func isNoted(
        _ move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form, cleared isCleared: Bool
    ) throws(DatabaseError) -> Bool {
        guard let numbers = noted.numbers else { return false }
        let select = try Statement(
            "SELECT number FROM intended WHERE \(Self.isOfNotes) AND cleared IS \(isCleared ? "1" : "NULL")",
            in: database)
        select.bind(3, numbers.lowerBound)
        select.bind(4, numbers.upperBound)
        select.bind(5, form.rawValue)
        return try move.path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            try move.target.utf8.span.withUnsafeBufferPointer { (target) throws(DatabaseError) in
                select.bind(1, text: path)
                select.bind(2, text: target)
                defer { select.reset() }
                return try select.next()
            }
        }
    }

    /// What was known under the new path of a move has gone.
    func noteCleared(
        _ move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form
    ) throws(DatabaseError) {
        guard let numbers = noted.numbers else { return }
        let done = try Statement("UPDATE intended SET cleared = 1 WHERE \(Self.isOfNotes)", in: database)
        done.bind(3, numbers.lowerBound)
        done.bind(4, numbers.upperBound)
        done.bind(5, form.rawValue)
        try run(done, move.path, move.target)
    }

    private func clearSome(_ move: PathMove, _ noted: NotedChanges) throws(DatabaseError) {
        let delete = try Statement(
            """
            DELETE FROM uploads WHERE number IN (
                SELECT number FROM uploads WHERE \(Self.isBelow) AND number <= ?2 LIMIT \(Catalog.rowsAtOnce))
            """,
            in: database)
        delete.bind(2, noted.newest)
        try run(delete, move.target)
        if try changes() < Catalog.rowsAtOnce { try noteCleared(move, in: noted, .folder) }
    }

    private func relocateSome(_ move: PathMove, _ newest: Int64) throws(DatabaseError) -> Bool {
        let update = try Statement(
            """
            UPDATE uploads SET id = randomblob(16), receipt = NULL, path = ?2 || substr(path, length(?1) + 1)
            WHERE number IN (
                SELECT number FROM uploads WHERE \(Self.isBelow) AND (committed <= ?3 OR number <= ?4)
                LIMIT \(Catalog.rowsAtOnce))
            """,
            in: database)
        update.bind(3, move.moment)
        update.bind(4, newest)
        try run(update, move.path, move.target)
        return try changes() >= Catalog.rowsAtOnce
    }

    /// Rows that the last statement has changed.
    private func changes() throws(DatabaseError) -> Int { Int(try database.execute("SELECT changes()") ?? 0) }
}
