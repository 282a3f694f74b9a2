import TransferModel
import TransferPorts

/// A note of a change that a server is about to make.
struct MemoryNote: Sendable {
    let number: Int64
    let change: IntendedChange

    /// The number of the last row when the change was noted.
    let newest: Int64

    /// How far the change was carried out in the rows.
    var progress = Progress.begun

    enum Progress: Sendable {
        case begun
        /// Earlier rows of the new path are removed. The rows of a moved file get the new path in the same step.
        case cleared
        /// All rows of a moved folder have their new paths. Rows that still have the old path were added later.
        case moved
    }
}

// MARK: Notes

extension MemoryUploads.State {
    mutating func intend(_ changes: [IntendedChange]) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // Index all earlier entries, so that their rows come before the notes.
        index()
        let first = lastNote + 1
        for change in changes {
            lastNote += 1
            notes.append(MemoryNote(number: lastNote, change: change, newest: rows.last))
        }
        return NotedChanges(first...lastNote, newest: rows.last)
    }

    var intended: [NotedChange] {
        notes.map { NotedChange($0.change, under: $0.number, newest: $0.newest) }
    }

    /// Files that were acknowledged below the old path of a folder after its move was noted.
    mutating func acknowledged(below move: PathMove, after noted: NotedChanges) -> [LateUpload] {
        index()
        return rows.entries(behind: noted.newest).compactMap { entry in
            guard PathKey(entry.path).isBelow(move.path), let object = entry.version?.object else { return nil }
            return LateUpload(entry.path, object: object)
        }
    }

    mutating func complete(_ noted: NotedChanges, _ changes: KnownChanges) {
        if !changes.isEmpty { index() }
        for folder in changes.folders { moveFolder(folder, noted) }
        makeFileChanges(changes, noted)
        guard let numbers = noted.numbers else { return }
        notes.removeAll { numbers.contains($0.number) && !noted.kept.contains($0.number) }
    }

    /// The positions of the notes of this move. Other notes with the same paths may concern another object.
    private func positions(
        of move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form
    ) -> [Int] {
        guard let numbers = noted.numbers else { return [] }
        return notes.indices.filter { index in
            let (number, change) = (notes[index].number, notes[index].change)
            return numbers.contains(number) && change.form == form && change.path.hasSameBytes(as: move.path)
                && change.target.hasSameBytes(as: move.target)
                && move.object.map { $0 == change.before.object } ?? true
        }
    }

    private func isNoted(
        _ move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form, _ progress: MemoryNote.Progress
    ) -> Bool {
        positions(of: move, in: noted, form).contains { notes[$0].progress == progress }
    }

    private mutating func note(
        _ progress: MemoryNote.Progress, of move: PathMove, in noted: NotedChanges, _ form: IntendedChange.Form
    ) {
        for index in positions(of: move, in: noted, form) { notes[index].progress = progress }
    }
}

// MARK: Folders

extension MemoryUploads.State {
    /// Moves the rows of a folder's content to the new path. Earlier rows of the new path are removed first, once:
    /// their files were gone before the folder was moved there. If the note stays, it is carried out only once: rows
    /// that later changes have put under the old path stay there.
    private mutating func moveFolder(_ move: PathMove, _ noted: NotedChanges) {
        let back = PathMove(move.target, to: move.path, at: move.moment)
        // If `move` undoes a move that was not carried out in the rows, there is nothing to undo.
        guard !isNoted(back, in: noted, .folder, .begun), !isNoted(move, in: noted, .folder, .moved) else { return }
        if isNoted(move, in: noted, .folder, .begun) {
            for path in rows.paths(below: move.target) {
                for row in rows.at(path) where row.number <= noted.newest { rows.remove(row.number) }
            }
        }
        for path in rows.paths(below: move.path) {
            let target = move.target + String(decoding: path.string.utf8.dropFirst(move.path.utf8.count), as: UTF8.self)
            for row in rows.at(path) where row.entry.committed <= move.moment || row.number <= noted.newest {
                relocate(row, to: target)
            }
        }
        note(.moved, of: move, in: noted, .folder)
        note(.cleared, of: back, in: noted, .folder)
    }

    /// Gives a row another path, and an ID that no client has.
    private mutating func relocate(_ row: (number: Int64, entry: CatalogEntry), to target: String) {
        var moved = row.entry
        (moved.id, moved.receipt, moved.path) = (.random(), nil, target)
        rows.put(moved, at: row.number)
    }
}

extension PathKey {
    fileprivate func isBelow(_ folder: String) -> Bool {
        let (bytes, start) = (string.utf8, "\(folder)/".utf8)
        return bytes.count > start.count && bytes.starts(with: start)
    }
}

// MARK: Files

extension MemoryUploads.State {
    /// Makes all changes except moves of folders, in their order.
    mutating func makeFileChanges(_ changes: KnownChanges, _ noted: NotedChanges) {
        for move in changes.kept { moveFile(move, noted) }
        for replaced in changes.replaced { forget(replaced, noted) }
        for link in changes.links { self.link(link) }
        for move in changes.moves where move.object != nil { moveFile(move, noted) }
        // Several changes may concern one file, under one name or several. The rows of all its names get its last
        // version.
        let last = Dictionary(changes.versions.map { (FileNumber($0.after), $0.after) }) {
            $0.touch < $1.touch ? $1 : $0
        }
        for change in changes.versions { restamp(change, as: last[FileNumber(change.after)] ?? change.after) }
        for link in changes.returned { self.link(link) }
    }

    /// Identifies a file in a batch of changes.
    private struct FileNumber: Hashable {
        let object: UInt64
        let size: UInt64

        init(_ version: ContentVersion) { (object, size) = (version.object, version.size) }
    }

    private mutating func forget(_ file: KnownChanges.Replaced, _ noted: NotedChanges) {
        for row in rows.at(PathKey(file.path)) {
            let isOld = row.entry.committed <= file.moment || row.number <= noted.newest
            if isOld, file.object == nil || row.entry.version?.object != file.object { rows.remove(row.number) }
        }
    }

    /// Adds a row for a second name of a file, made from the file's last acknowledgement.
    private mutating func link(_ link: PathLink) {
        let known = rows.at(PathKey(link.path)).map(\.entry).filter { entry in
            entry.version.map { $0.object == link.before.object && $0.isStamped(as: link.before) } ?? false
                && entry.digest != nil
        }
        guard let last = known.max(by: { $0.committed < $1.committed }) else { return }
        let isKnown = rows.at(PathKey(link.target)).contains { row in
            row.entry.version.map { $0.object == link.before.object && $0.isStamped(as: link.after) } ?? false
        }
        guard !isKnown else { return }
        let version = ContentVersion(
            object: link.before.object, revision: link.after.revision, touch: link.after.touch, size: last.size)
        rows.insert(
            CatalogEntry(
                id: .random(), state: .committed, path: link.target, kind: last.kind, size: last.size,
                digest: last.digest,
                isDurable: last.isDurable, sender: last.sender, client: last.client, begun: link.moment,
                committed: link.moment, version: version))
    }

    /// Moves the rows of a file to its new path, and removes earlier rows of the new path, once. If the note stays, a
    /// repeated move only affects rows of this very object: rows that later changes have put under the old path stay
    /// there.
    private mutating func moveFile(_ move: PathMove, _ noted: NotedChanges) {
        guard !move.path.hasSameBytes(as: move.target) else { return }
        let isAlone = move.isAlone || isNoted(move, in: noted, .move, .cleared)
        func isOld(_ row: (number: Int64, entry: CatalogEntry)) -> Bool {
            !isAlone && (row.entry.committed <= move.moment || row.number <= noted.newest)
        }
        for row in rows.at(PathKey(move.target)) where isOld(row) && row.entry.version?.object != move.object {
            rows.remove(row.number)
        }
        for row in rows.at(PathKey(move.path)) where isOld(row) || row.entry.version?.object == move.object {
            relocate(row, to: move.target)
        }
        note(.cleared, of: move, in: noted, .move)
    }

    /// Gives the rows of a file its new version. If the old version is marked as rotten, the new one gets the mark,
    /// too. The old mark stays, because a power cut may bring the old modification time back.
    private mutating func restamp(_ change: VersionChange, as after: ContentVersion) {
        for row in rows.at(PathKey(change.path)) where row.entry.version == change.before {
            var stamped = row.entry
            stamped.version = ContentVersion(
                object: after.object, revision: after.revision, touch: after.touch, size: row.entry.size)
            rows.put(stamped, at: row.number)
        }
        guard !after.hasSameContent(as: change.before), let digest = rotten[.init(change.before)] else { return }
        let content = MemoryUploads.FileContent(
            ContentVersion(
                object: after.object, revision: after.revision, touch: after.touch, size: change.before.size))
        if rotten[content] == nil { rotten[content] = digest }
    }
}

extension ContentVersion {
    fileprivate func isStamped(as other: ContentVersion) -> Bool {
        touch == other.touch && revision == other.revision
    }
}
