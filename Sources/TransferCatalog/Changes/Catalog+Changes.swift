import TransferDatabase
package import TransferModel
package import TransferPorts

/// What this server does with stored files by itself: noted before, and known behind it.
extension Catalog {
    /// Keeps what is about to be changed, all or nothing, as durably as the catalog is, until it is known what came of it.
    package func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // What has arrived by now has a row before the note.
        try index()
        var noted = NotedChanges.none
        try connections.write { (writer) throws(RecordsError) in noted = try writer.intend(changes) }
        return noted
    }

    /// What was intended and is not known to be done or undone, in the order in which it was noted.
    package func intended() throws(RecordsError) -> [NotedChange] {
        try connections.read { (reader) throws(RecordsError) in try reader.intended() }
    }

    /// What was acknowledged below the old path of a folder after its move was noted.
    package func acknowledged(below move: PathMove, after noted: NotedChanges) throws(RecordsError) -> [LateUpload] {
        try index()
        return try LateUpload.all(below: move, after: noted) { (body) throws(RecordsError) in
            try connections.read { (reader) throws(RecordsError) in try body(reader.database) }
        }
    }

    /// Lets files be known as they are by now, and forgets what was noted of that. That is done in steps, between which others have
    /// their turn; the notes go with the last one, so that a later server begins with the first one again where this one ends.
    package func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError) {
        guard noted.numbers != nil || !changes.isEmpty else { return }
        if !changes.isEmpty { try index() }
        for folder in changes.folders {
            var isOver = false
            while !isOver {
                try connections.writeStep { (writer) throws(RecordsError) in
                    isOver = try !writer.moveSome(folder, noted)
                }
            }
        }
        var rest = changes.ofFiles[...]
        var isOver = false
        while !isOver {
            var done = 0
            try connections.writeStep { (writer) throws(RecordsError) in
                (done, isOver) = try writer.completeSome(noted, rest)
            }
            rest = rest.dropFirst(done)
        }
    }
}
