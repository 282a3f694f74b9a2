import TransferDatabase
package import TransferModel
package import TransferPorts

/// Changes of stored files by this server: noted before they are made, and recorded afterwards.
extension Catalog {
    /// Notes changes that are about to be made, all or none, as durably as the catalog is. The notes stay until
    /// `complete`.
    package func intend(_ changes: [IntendedChange]) throws(RecordsError) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // Uploads that have arrived by now get rows before the note, so that the note concerns them.
        try index()
        var noted = NotedChanges.none
        try connections.write { (writer) throws(RecordsError) in noted = try writer.intend(changes) }
        return noted
    }

    /// The changes whose outcome is not recorded, in the order in which they were noted.
    package func intended() throws(RecordsError) -> [NotedChange] {
        try connections.read { (reader) throws(RecordsError) in try reader.intended() }
    }

    /// Files that were acknowledged under the old path of a folder after its move was noted.
    package func acknowledged(below move: PathMove, after noted: NotedChanges) throws(RecordsError) -> [LateUpload] {
        try index()
        return try LateUpload.all(below: move, after: noted) { (body) throws(RecordsError) in
            try connections.read { (reader) throws(RecordsError) in try body(reader.database) }
        }
    }

    /// Records the outcome of changes, and removes the notes. This takes several steps, and other threads can write
    /// between them. The last step removes the notes: if the server ends before it, the next server starts again with
    /// the first step.
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
