package import TransferDatabase
package import TransferModel

/// What this server does with stored files by itself: noted before, and known behind it.
extension Catalog {
    /// Keeps what is about to be changed, all or nothing, as durably as the catalog is, until it is known what came of it.
    package func intend(_ changes: [IntendedChange]) throws(DatabaseError) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // What has arrived by now has a row before the note.
        try settle()
        var noted = NotedChanges.none
        try connections.write { (writer) throws(DatabaseError) in noted = try writer.intend(changes) }
        return noted
    }

    /// What was intended and is not known to be done or undone, in the order in which it was noted.
    package func intended() throws(DatabaseError) -> [NotedChange] {
        try connections.read { (reader) throws(DatabaseError) in try reader.intended() }
    }

    /// What was acknowledged below the old path of a folder after its move was noted.
    package func acknowledged(below move: PathMove, after noted: NotedChanges) throws(DatabaseError) -> [LateUpload] {
        try settle()
        return try LateUpload.all(below: move, after: noted) { (body) throws(DatabaseError) in
            try connections.read { (reader) throws(DatabaseError) in try body(reader.database) }
        }
    }

    /// Lets files be known as they are by now, and forgets what was noted of that. That is done in steps, between which others have
    /// their turn; the notes go with the last one, so that a later server begins with the first one again where this one ends.
    package func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(DatabaseError) {
        guard noted.numbers != nil || !changes.isEmpty else { return }
        if !changes.isEmpty { try settle() }
        for folder in changes.folders {
            var isOver = false
            while !isOver {
                try connections.writeStep { (writer) throws(DatabaseError) in
                    isOver = try !writer.moveSome(folder, noted)
                }
            }
        }
        var rest = changes.ofFiles[...]
        var isOver = false
        while !isOver {
            var done = 0
            try connections.writeStep { (writer) throws(DatabaseError) in
                (done, isOver) = try writer.completeSome(noted, rest)
            }
            rest = rest.dropFirst(done)
        }
    }
}

/// Where it is noted what a server is about to do.
package protocol IntendedChanges {
    /// What was intended and is not known to be done or undone, in the order in which it was noted.
    func intended() throws(DatabaseError) -> [NotedChange]

    /// What was acknowledged below the old path of a folder after its move was noted.
    func acknowledged(below move: PathMove, after noted: NotedChanges) throws(DatabaseError) -> [LateUpload]

    /// Lets files be known as they are by now, and forgets what was noted of that.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(DatabaseError)
}

extension IntendedChanges {
    /// Looks what has become of all that was intended, and lets it be known. Nobody may intend anything meanwhile.
    ///
    /// - Parameters:
    ///   - keepsNotes: whether a power cut may still bring back what was before, so that it has to be looked at once more.
    ///   - look: says what has a path; throws where that cannot be said.
    /// - Returns: how many changes there were that a server did not come to the end of.
    package func settleIntended<Failure: Error>(
        keepsNotes: Bool = false, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(DatabaseError) -> Int {
        var settled = 0
        for noted in try intended() {
            // Where the outcome cannot be told now, the note stays for the next time.
            guard let known = try outcome(of: noted, look) else { continue }
            // A note that cannot be read never will be, and goes in any case.
            try complete(keepsNotes && noted.change != nil ? noted.notes.keepingAll : noted.notes, known)
            if noted.change != nil { settled += 1 }
        }
        return settled
    }

    /// What has become of a change that was noted, with the files that went along with a folder.
    ///
    /// - Parameter look: says what has a path; throws where that cannot be said.
    /// - Returns: no changes for a note that cannot be read; nil where the outcome cannot be told now.
    package func outcome<Failure: Error>(
        of noted: NotedChange, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(DatabaseError) -> KnownChanges? {
        guard let change = noted.change, let path = RelativePath(stored: change.path),
            let target = RelativePath(stored: change.target)
        else { return KnownChanges() }
        var known: KnownChanges
        do throws(Failure) {
            known = change.outcome(try look(path), path == target ? nil : try look(target))
        } catch {
            return nil
        }
        guard let along = try whatWentAlong(with: known.folders, noted.notes, look) else { return nil }
        known.moves += along
        return known
    }

    /// Files that were acknowledged between the note of a folder's move and its rename; nobody knows when that was.
    ///
    /// - Returns: nil where that cannot be told now.
    private func whatWentAlong<Failure: Error>(
        with folders: [PathMove], _ noted: NotedChanges, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(DatabaseError) -> [PathMove]? {
        var along: [PathMove] = []
        for folder in folders {
            for upload in try acknowledged(below: folder, after: noted) {
                let move = upload.moved(with: folder)
                do throws(Failure) {
                    let isThere = try upload.stands(at: move.target, look)
                    if isThere, try !upload.stands(at: upload.path, look) { along.append(move) }
                } catch {
                    return nil
                }
            }
        }
        return along
    }
}

extension LateUpload {
    fileprivate func stands<Failure: Error>(
        at path: String, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(Failure) -> Bool {
        guard let path = RelativePath(stored: path), let found = try look(path) else { return false }
        return found.form == .file && found.version.object == object
    }
}
