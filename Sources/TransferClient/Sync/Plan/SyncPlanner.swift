import TransferModel
import TransferPorts
import TransferStore

/// Compares two trees and plans the changes. Reads nothing but the trees, and content through `ContentComparison`.
struct SyncPlanner {
    /// Whether two files of the same size, one on this machine and one on a server, have the same content; nil if that
    /// is unknown unless the file is sent.
    typealias ContentComparison = (_ source: SyncEntry, _ target: SyncEntry) -> Bool?

    private let source: SyncTree
    private let target: SyncTree
    private let options: SyncOptions
    private let keeping: AttributeKeeping
    private let hasSameContent: ContentComparison
    private let record: SyncRecord?
    /// The side that is changed.
    private let side: SyncRecord.Side
    private let names: ConflictName
    private var plan = SyncPlan()
    /// Files that are sent or moved, so that their further hard links are made again.
    private var renewed: Set<RelativePath> = []
    /// The first name of each file of the source that has several.
    private var firsts: [SyncEntry.NamedFile: RelativePath] = [:]
    /// For each target file with several names that was matched with a source file: the name under which it was
    /// matched.
    private var kept: [SyncEntry.NamedFile: RelativePath] = [:]
    /// Entries of the target that are in the way, and are removed with all their content.
    private var cleared: Set<RelativePath> = []
    /// Folders in which something is changed.
    private var touched: Set<RelativePath?> = []
    private var differing: Set<RelativePath> = []
    private var blockedFolders: Set<RelativePath> = []
    /// Entries of the target whose paths the source lacks.
    private var onlyThere: [SyncEntry] = []
    /// Files of the target that are moved.
    private var movedAway: Set<RelativePath> = []
    /// Folders of the target that contain, at any depth, a name that cannot be a path. Such names would be removed with
    /// the folder.
    private let holding: Set<RelativePath>

    /// - Parameters:
    ///   - rights: permissions that the changed side always grants its own user.
    ///   - record: what the last sync of these two sides has seen; nil for the first sync.
    ///   - side: the side that is changed.
    ///   - names: names for the source's versions after conflicts.
    init(
        _ source: SyncTree, _ target: SyncTree, _ options: SyncOptions, rights: OwnerRights = .none,
        record: SyncRecord? = nil, of side: SyncRecord.Side = .server, names: ConflictName = .here,
        hasSameContent: @escaping ContentComparison
    ) {
        (self.source, self.target, self.options) = (source, target, options)
        (self.record, self.side, self.names) = (record, side, names)
        keeping = AttributeKeeping(owners: options.keepsOwners, rights: rights)
        let unlisted = target.unlisted.compactMap { try? RelativePath($0.folder) } + target.held
        holding = Set(unlisted).union(unlisted.flatMap(\.folders))
        self.hasSameContent = hasSameContent
    }

    mutating func run() -> SyncPlan {
        SyncTree.forEach(source, target) { entry, there in
            if let entry { compare(entry, there) } else if let there { onlyThere.append(there) }
        }
        if options.deletes {
            // A move removes the file from the old path. Like a removal, it requires that the source is completely
            // known.
            if source.isWhole { findMoves() }
            findRemovals()
        }
        finishFolders()
        plan.surviving = kept
        return plan
    }
}

// MARK: Comparing

extension SyncPlanner {
    private mutating func compare(_ entry: SyncEntry, _ there: SyncEntry?) {
        guard !isBelowBlocked(entry) else { return block(entry, "The folder that contains it cannot be created.") }
        switch entry.form {
        case .folder: compare(folder: entry, there)
        case .link: compare(link: entry, there)
        case .file: compare(file: entry, there)
        }
    }

    private mutating func compare(folder entry: SyncEntry, _ there: SyncEntry?) {
        if let there, there.isFolder {
            if differs(entry, there) { differing.insert(entry.path) } else { plan.unchanged += 1 }
            return
        }
        guard !target.leftOut.contains(entry.path) else {
            return block(entry, "An entry that is left out of the sync is in the way.")
        }
        guard givesWay(there, to: entry) else {
            blockedFolders.insert(entry.path)
            return
        }
        if let there, there.isFile { clear(there) }
        if let there, there.isLink {
            plan.replacedLinks.insert(there.path)
            remember(there, at: entry.path)
        }
        plan.folders.append(entry)
        touch(entry)
    }

    private mutating func compare(link entry: SyncEntry, _ there: SyncEntry?) {
        if let there, there.form == entry.form {
            guard differs(entry, there) else { return plan.unchanged += 1 }
            remember(there, at: entry.path)
            return plan.attributes.append(entry)
        }
        guard makeRoom(for: entry, there), givesWay(there, to: entry) else { return }
        if let there, there.isFile { clear(there) } else { remember(there, at: entry.path) }
        plan.links.append(entry)
        touch(entry)
    }

    private mutating func compare(file entry: SyncEntry, _ there: SyncEntry?) {
        if let name = entry.named {
            if let first = firsts[name] { return compare(otherNameOf: first, entry, there) }
            firsts[name] = entry.path
        }
        var isDoubtful = false
        if let there, there.form == entry.form {
            let isSame = isSame(entry, there)
            isDoubtful = isSame == nil
            // It can turn out when the file is sent that a file of the same size has the same content.
            if isSame ?? true, let name = there.named {
                guard kept[name] == nil else { return part(entry, there) }
                kept[name] = there.path
            }
            if isSame ?? false, !differs(entry, there) { return plan.unchanged += 1 }
            if isSame ?? false {
                remember(there, at: entry.path)
                return plan.attributes.append(entry)
            }
        }
        guard makeRoom(for: entry, there), givesWay(there, to: entry, isDoubtful: isDoubtful) else { return }
        remember(there, at: entry.path)
        let isKnown = there.map { !$0.isFile || record?[$0.path]?.isShared(.init($0), on: side) ?? false } ?? true
        plan.files.append(SyncPlan.File(entry: entry, isNew: there == nil, replacesKnown: isKnown))
        renewed.insert(entry.path)
        touch(entry)
    }

    /// Plans a file of the source that shares one file with another name in the target. Its name in the target is
    /// removed first, because an upload would find the same content there and leave the hard link as it is.
    private mutating func part(_ entry: SyncEntry, _ there: SyncEntry) {
        clear(there)
        plan.files.append(SyncPlan.File(entry: entry, isNew: false))
        renewed.insert(entry.path)
    }

    private mutating func compare(otherNameOf first: RelativePath, _ entry: SyncEntry, _ there: SyncEntry?) {
        if let there, there.named != nil, there.named == target[first]?.named, !renewed.contains(first) {
            return plan.unchanged += 1
        }
        guard makeRoom(for: entry, there), givesWay(there, to: entry) else { return }
        remember(there, at: entry.path)
        plan.hardLinks.append(SyncPlan.HardLink(entry: entry, first: first))
        touch(entry)
    }

    /// Whether the content counts as the same; nil if that is unknown. If only the times differ, the file is read,
    /// because reading costs less than sending.
    private func isSame(_ entry: SyncEntry, _ there: SyncEntry) -> Bool? {
        if !options.comparesContent, entry.modified == there.modified { return true }
        return hasSameContent(entry, there)
    }

    private func differs(_ entry: SyncEntry, _ there: SyncEntry) -> Bool {
        entry.differs(from: there, keeping)
    }

    /// - Parameter there: the target's entry. A folder is not remembered, because it is removed first.
    private mutating func remember(_ there: SyncEntry?, at path: RelativePath) {
        guard let there, !there.isFolder else { return }
        plan.compared[path] = there
    }

    private mutating func touch(_ entry: SyncEntry) { touched.insert(entry.path.parent) }
}

// MARK: What both sides have changed

extension SyncPlanner {
    /// Whether a file of the target may be replaced by the source's entry. If not, a conflict or a newer file is added
    /// to the plan.
    ///
    /// - Parameter isDoubtful: whether it is unknown if both have the same content.
    private mutating func givesWay(_ there: SyncEntry?, to entry: SyncEntry, isDoubtful: Bool = false) -> Bool {
        guard let there, there.isFile else { return true }
        if options.skipsNewer, entry.isFile, entry.isOlder(than: there) { return keep(entry) }
        guard options.conflicts != .source, !isKnown(there, instead: entry) else { return true }
        if let known = record?[entry.path], known.settled == .init(there), known.common == .init(entry), entry.isFile {
            plan.settled.insert(entry.path)
            plan.unchanged += 1
            return false
        }
        if options.conflicts == .newer {
            if there.isOlder(than: entry) { return true }
            if entry.isOlder(than: there) { return keep(entry) }
        }
        addConflict(entry, there, isDoubtful: isDoubtful)
        return false
    }

    private mutating func keep(_ entry: SyncEntry) -> Bool {
        plan.kept.append(entry)
        return false
    }

    /// Whether a sync has seen this version. Without a record, a version older than the source's counts as seen.
    private func isKnown(_ there: SyncEntry, instead entry: SyncEntry) -> Bool {
        guard let record else { return there.isOlder(than: entry) }
        return record[there.path]?.knows(.init(there), on: side) ?? false
    }

    /// Whether another client or user has changed the file since a sync saw it.
    private func isEdited(_ there: SyncEntry) -> Bool {
        guard options.conflicts != .source, there.isFile, let known = record?[there.path] else { return false }
        return !known.knows(.init(there), on: side)
    }

    private mutating func addConflict(_ entry: SyncEntry, _ there: SyncEntry, isDoubtful: Bool) {
        var conflict = SyncPlan.Conflict(
            entry: entry, there: there, isDoubtful: isDoubtful,
            message: record == nil ? "The target's version is not older, and stays." : "Both sides have changed it.")
        if options.conflicts != .fail, entry.isFile {
            conflict.copy = names.path(of: entry) { path in
                guard let found = target[path] else { return source[path] == nil }
                return found.form == entry.form && found.modified == entry.modified
            }
            conflict.isStored = conflict.copy.map { target[$0] != nil } ?? false
            if conflict.copy != nil, !conflict.isStored { touch(entry) }
        }
        plan.conflicts.append(conflict)
    }

    /// Adds a conflict for a file that the source lacks, and that was changed in the target since both sides had the
    /// same version.
    private mutating func addEdited(_ there: SyncEntry) {
        plan.conflicts.append(
            SyncPlan.Conflict(
                entry: there, there: there,
                message: "The source does not have it, and the target has changed it: it stays."))
    }
}

extension SyncEntry {
    /// Whether the modification time of this file is before that of the other one; no clock is read.
    func isOlder(than other: SyncEntry) -> Bool {
        (modified.seconds, modified.nanoseconds) < (other.modified.seconds, other.modified.nanoseconds)
    }
}

// MARK: What is in the way

extension SyncPlanner {
    /// Plans the removal of a folder that has the path of another entry.
    ///
    /// - Returns: whether the path will be free, or has a file or link that can be replaced.
    private mutating func makeRoom(for entry: SyncEntry, _ there: SyncEntry?) -> Bool {
        guard let there, there.isFolder else { return true }
        guard options.deletes else {
            block(entry, "A folder is in the way; --delete removes it.")
            return false
        }
        guard !hasLeftOut(below: there.path) else {
            block(entry, "A folder is in the way, and contains entries that are left out of the sync.")
            return false
        }
        guard !target.entries(below: there.path).contains(where: isEdited) else {
            block(entry, "A folder is in the way, and contains entries that were changed there since the last sync.")
            return false
        }
        guard !holding.contains(there.path) else {
            block(entry, "A folder is in the way, and contains a name that no path can have.")
            return false
        }
        clear(there)
        return true
    }

    private mutating func clear(_ there: SyncEntry) {
        cleared.insert(there.path)
        plan.obstacles.append(removal(of: there))
        touch(there)
    }

    private mutating func block(_ entry: SyncEntry, _ message: String) {
        plan.blocked.append((entry, message))
        if entry.isFolder { blockedFolders.insert(entry.path) }
    }

    private func isBelowBlocked(_ entry: SyncEntry) -> Bool {
        !blockedFolders.isEmpty && entry.path.folders.contains { blockedFolders.contains($0) }
    }

    private func isCleared(_ entry: SyncEntry) -> Bool {
        !cleared.isEmpty && (cleared.contains(entry.path) || entry.path.folders.contains { cleared.contains($0) })
    }

    /// Whether a folder of the target contains an entry that the selection leaves out.
    private func hasLeftOut(below folder: RelativePath) -> Bool {
        target.leftOut.contains { $0.below(folder) != nil }
    }

    private func removal(of entry: SyncEntry) -> SyncPlan.Removal {
        guard entry.isFolder else { return SyncPlan.Removal(entry: entry, entries: [entry]) }
        return SyncPlan.Removal(entry: entry, entries: [entry] + target.entries(below: entry.path))
    }
}

// MARK: What only the target has

extension SyncPlanner {
    /// Entries that only the target has, except those in the way and those that the selection leaves out.
    private var leftovers: [SyncEntry] { onlyThere.filter { !isCleared($0) && !isLeftOut($0.path) } }

    /// Whether the selection leaves the path out on either side.
    private func isLeftOut(_ path: RelativePath) -> Bool {
        [source.leftOut, target.leftOut].contains { leftOut in
            !leftOut.isEmpty && (leftOut.contains(path) || path.folders.contains { leftOut.contains($0) })
        }
    }

    /// Finds new files with the size, time and content of a file that only the target has. Content is compared only if
    /// size and time match.
    private mutating func findMoves() {
        let fresh = plan.files.filter { $0.isNew && $0.entry.size > 0 }
        guard !fresh.isEmpty else { return }
        var gone: [MoveKey: [SyncEntry]] = [:]
        for entry in leftovers where entry.isFile && entry.size > 0 && entry.named == nil {
            gone[MoveKey(entry), default: []].append(entry)
        }
        guard !gone.isEmpty else { return }
        var moved: Set<RelativePath> = []
        for file in fresh {
            guard let found = gone[MoveKey(file.entry)]?.first(where: { hasSameContent(file.entry, $0) ?? false })
            else {
                continue
            }
            gone[MoveKey(file.entry)]?.removeAll { $0.path == found.path }
            moved.insert(file.entry.path)
            movedAway.insert(found.path)
            touch(found)
            remember(found, at: file.entry.path)
            plan.moves.append(SyncPlan.Move(from: found.path, entry: file.entry))
        }
        plan.files.removeAll { moved.contains($0.entry.path) }
    }

    /// What must match before the content of a moved file is compared.
    struct MoveKey: Hashable {
        let size: UInt64
        let modified: Timestamp

        init(_ entry: SyncEntry) { (size, modified) = (entry.size, entry.modified) }
    }

    private mutating func findRemovals() {
        let leftovers = leftovers.filter { !movedAway.contains($0.path) }
        let stays = leftovers.filter { isEdited($0) || isConflictCopy($0) }
        let backup = options.backupFolder.flatMap { try? RelativePath($0) }.map { [$0] + $0.folders } ?? []
        let kept = holding.union(backup).union((target.leftOut + stays.map(\.path)).flatMap(\.folders)).union(
            stays.map(\.path))
        for entry in stays where isEdited(entry) { addEdited(entry) }
        var removed: Set<RelativePath> = []
        for entry in leftovers {
            guard !kept.contains(entry.path) else { continue }
            if let folder = entry.path.parent, removed.contains(folder) {
                if entry.isFolder { removed.insert(entry.path) }
                continue
            }
            let removal = removal(of: entry)
            plan.removals.append(
                SyncPlan.Removal(entry: entry, entries: removal.entries.filter { !movedAway.contains($0.path) }))
            touch(entry)
            if entry.isFolder { removed.insert(entry.path) }
        }
    }
}

extension SyncPlanner {
    /// Whether a file is a copy that a conflict has left in the target. Its name has the form of such copies, and no
    /// sync has recorded the file.
    private func isConflictCopy(_ there: SyncEntry) -> Bool {
        options.conflicts != .source && there.isFile && ConflictName.isOne(there.path) && record?[there.path] == nil
    }
}

// MARK: Folders

extension SyncPlanner {
    /// Plans the attributes of folders and their permissions during the sync: changes in a folder change its time, and
    /// need the permission to write to it.
    private mutating func finishFolders() {
        let made = Set(plan.folders.map(\.path))
        // The backup folder is created in its parent folder, which changes as well.
        if let backup = options.backupFolder.flatMap({ try? RelativePath($0) }), !plan.isEmpty {
            touched.insert(backup.parent)
        }
        for entry in source.entries.reversed() where entry.isFolder {
            let isTold = differing.contains(entry.path)
            if isTold || touched.contains(entry.path) || made.contains(entry.path) {
                plan.folderAttributes.append((entry, isTold))
            }
        }
        let going = Set((plan.removals + plan.obstacles).flatMap { $0.entries }.map(\.path))
        plan.unlocked = target.entries.filter { entry in
            entry.isClosed
                && (touched.contains(entry.path) || going.contains(entry.path))
        }
        guard let top = source.top else { return }
        let differs =
            target.top.map { there in
                top.isPartial || top.modified != there.modified
                    || keeping.differ((top.permissions, there.permissions), isFolder: true)
                    || top.extra.differs(from: there.extra, keepsOwners: keeping.owners)
            } ?? false
        // Every change needs temporary names in the top folder, and so changes its time.
        plan.top = (target.top == nil || differs || !plan.isEmpty, differs)
    }
}
