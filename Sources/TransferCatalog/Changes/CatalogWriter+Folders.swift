import TransferDatabase
import TransferModel
import TransferPorts

/// Folders that have another path, with all that is known of what is in them: a step at a time, because there may be a lot.
extension CatalogWriter {
    /// How far a noted move was carried out in the catalog; the numbers are stored. A move that is not begun has none.
    enum MoveProgress: Int64 {
        /// What was known under the new path has gone. A file is moved in the same step, and is known there by now.
        case cleared = 1
        /// All of a folder is known under the new path. What is known under the old one by now has come since.
        case moved = 2
    }

    // Behind a slash comes a zero: all paths below a folder are between the two.
    private static let isBelow = "path > ?1 || '/' AND path < ?1 || '0'"

    /// Of these notes: others with the same paths may be about another object.
    private static let isOfNotes =
        "path = ?1 AND target = ?2 AND number BETWEEN ?3 AND ?4 AND form = ?5 AND (?6 IS NULL OR object = ?6)"

    /// Lets some of what is in a folder be known below its new path. What was known there before goes first, once: nothing was
    /// there any more when the folder came. A note that stays is carried out once: what later changes have put under the old path
    /// stays there.
    ///
    /// - Parameter noted: the notes that the move was noted with.
    /// - Returns: whether there may be more.
    func moveSome(_ move: PathMove, _ noted: NotedChanges) throws(RecordsError) -> Bool {
        var isMore = true
        // The note stays until all is done, and that is synced.
        try transaction(isSynced: noted.numbers == nil) { () throws(RecordsError) in
            // What was not begun need not be undone.
            let back = PathMove(move.target, to: move.path, at: move.moment)
            let (isUnbegun, isMoved) = (
                try isNoted(back, in: noted, .folder, nil), try isNoted(move, in: noted, .folder, .moved)
            )
            guard !isUnbegun, !isMoved else { return isMore = false }
            if try isNoted(move, in: noted, .folder, nil) {
                try clearSome(move, noted)
            } else {
                isMore = try relocateSome(move, noted.newest)
                guard !isMore else { return }
                try note(.moved, of: move, in: noted, .folder)
                try note(.cleared, of: back, in: noted, .folder)
            }
        }
        return isMore
    }

    /// Whether a move was noted, and was carried out so far.
    ///
    /// - Parameter progress: nil for one that was not begun.
    func isNoted(
        _ move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form, _ progress: MoveProgress?
    ) throws(RecordsError) -> Bool {
        guard let numbers = noted.numbers else { return false }
        let select = try Statement(
            "SELECT number FROM intended WHERE \(Self.isOfNotes) AND cleared IS ?7", in: database)
        bind(select, move, numbers, form)
        select.bind(7, progress?.rawValue)
        return try move.path.utf8.span.withUnsafeBufferPointer { (path) throws(RecordsError) in
            try move.target.utf8.span.withUnsafeBufferPointer { (target) throws(RecordsError) in
                select.bind(1, text: path)
                select.bind(2, text: target)
                defer { select.reset() }
                return try select.next()
            }
        }
    }

    /// A noted move was carried out so far.
    func note(
        _ progress: MoveProgress, of move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form
    ) throws(RecordsError) {
        guard let numbers = noted.numbers else { return }
        let update = try Statement("UPDATE intended SET cleared = ?7 WHERE \(Self.isOfNotes)", in: database)
        bind(update, move, numbers, form)
        update.bind(7, progress.rawValue)
        try run(update, move.path, move.target)
    }

    private func bind(
        _ statement: Statement, _ move: PathMove, _ numbers: ClosedRange<Int64>, _ form: IntendedChange.Form
    ) {
        statement.bind(3, numbers.lowerBound)
        statement.bind(4, numbers.upperBound)
        statement.bind(5, form.rawValue)
        statement.bind(6, move.object.map { Int64(bitPattern: $0) })
    }

    private func clearSome(_ move: PathMove, _ noted: NotedChanges) throws(RecordsError) {
        let delete = try Statement(
            """
            DELETE FROM uploads WHERE number IN (
                SELECT number FROM uploads WHERE \(Self.isBelow) AND number <= ?2 LIMIT \(Catalog.rowsAtOnce))
            """,
            in: database)
        delete.bind(2, noted.newest)
        try run(delete, move.target)
        if try changes() < Catalog.rowsAtOnce { try note(.cleared, of: move, in: noted, .folder) }
    }

    private func relocateSome(_ move: PathMove, _ newest: Int64) throws(RecordsError) -> Bool {
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
    private func changes() throws(RecordsError) -> Int { Int(try database.execute("SELECT changes()") ?? 0) }
}
