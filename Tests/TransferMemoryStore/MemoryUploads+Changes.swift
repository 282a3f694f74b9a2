import TransferModel
import TransferPorts

/// A change that is about to be made.
struct MemoryNote: Sendable {
    let number: Int64
    let change: IntendedChange

    /// The last row that was there when the change was noted.
    let newest: Int64

    /// How far the rows have followed the change.
    var progress = Progress.begun

    enum Progress: Sendable {
        case begun
        /// What was known under the new path has gone. The rows of a file have followed in the same step.
        case cleared
        /// All rows of a folder have followed. What is known under the old path by now has come since.
        case moved
    }
}

// MARK: Notes

extension MemoryUploads.State {
    mutating func intend(_ changes: [IntendedChange]) -> NotedChanges {
        guard !changes.isEmpty else { return .none }
        // What has arrived by now has a row before the notes.
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

    /// The positions of the notes that a move was noted with: others with the same paths may be about another object.
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
    /// Lets what is in a folder be known below its new path. What was known there before goes first, once: it was not there any more when
    /// the folder came. A note that stays is carried out once: what later changes have put under the old path stays there.
    private mutating func moveFolder(_ move: PathMove, _ noted: NotedChanges) {
        let back = PathMove(move.target, to: move.path, at: move.moment)
        // A move that was not begun need not be undone.
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

    /// Lets an upload be known under another path, with an id that no client has.
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
    /// Makes all changes but those of folders, in their order.
    mutating func makeFileChanges(_ changes: KnownChanges, _ noted: NotedChanges) {
        for move in changes.kept { moveFile(move, noted) }
        for replaced in changes.replaced { forget(replaced, noted) }
        for link in changes.links { self.link(link) }
        for move in changes.moves where move.object != nil { moveFile(move, noted) }
        // Several changes may be about one file, under one name or several: all its names are known as it is in the end.
        let last = Dictionary(changes.versions.map { (FileNumber($0.after), $0.after) }) {
            $0.touch < $1.touch ? $1 : $0
        }
        for change in changes.versions { restamp(change, as: last[FileNumber(change.after)] ?? change.after) }
        for link in changes.returned { self.link(link) }
    }

    /// What tells a file from others in a batch of changes.
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

    /// Lets a file be known under a second name as well, by the last of its acknowledgements.
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

    /// Lets a file be known under another path. What was known there goes once. A note that stays is carried out once, but for what is
    /// known of the very file: what later changes have put under the old path stays there.
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

    /// Lets a file be known as what it is by now. One that is rotten stays so, and its old time stays marked as well: a power cut may
    /// bring it back.
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
