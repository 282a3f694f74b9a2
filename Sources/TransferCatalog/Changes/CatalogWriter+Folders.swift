import TransferDatabase
import TransferModel
import TransferPorts

/// Moves of folders, with the entries of everything in them. This takes several steps, because a folder may have many
/// entries.
extension CatalogWriter {
    /// How much of a noted move is recorded in the catalog; the raw values are stored. Nil for a move that is not
    /// begun.
    enum MoveProgress: Int64 {
        /// The earlier entries of the new path are deleted. If the move is that of a file, the same step gives its
        /// entries the new path.
        case cleared = 1
        /// All entries of a folder have the new path. Entries under the old path arrived later.
        case moved = 2
    }

    // `0` is the character after the slash, so all paths in a folder are between the two.
    private static let isBelow = "path > ?1 || '/' AND path < ?1 || '0'"

    /// Selects a move among these notes only, because other notes with the same paths may concern another object.
    private static let isOfNotes =
        "path = ?1 AND target = ?2 AND number BETWEEN ?3 AND ?4 AND form = ?5 AND (?6 IS NULL OR object = ?6)"

    /// Moves some of the entries in a folder to the new path. Deletes earlier entries of the new path first, but only
    /// once: none of their files existed any more when the folder arrived. If the note stays and the move is recorded
    /// again, entries that later changes have put under the old path stay there.
    ///
    /// - Parameter noted: the notes of the move.
    /// - Returns: whether there may be more.
    func moveSome(_ move: PathMove, _ noted: NotedChanges) throws(RecordsError) -> Bool {
        var isMore = true
        // No sync is needed while the note stays: it is removed after the last step, by a transaction that is synced.
        try transaction(isSynced: noted.numbers == nil) { () throws(RecordsError) in
            // If this move undoes a noted move that was not begun, no entries have to move back.
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

    /// Whether a move is noted and has this progress.
    ///
    /// - Parameter progress: nil for a move that is not begun.
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

    /// Stores the progress of a noted move.
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

    /// Number of rows that the last statement has changed.
    private func changes() throws(RecordsError) -> Int { Int(try database.execute("SELECT changes()") ?? 0) }
}
