import TransferModel
import TransferStore

/// Finds out what has to be done to make one tree the same as another one. Looks at nothing but the two, and at content where it
/// is told how.
struct SyncPlanner {
    /// Whether two files of the same size have the same content, one on this machine and one on a server; nothing where that
    /// cannot be told without sending it.
    typealias ContentComparison = (_ source: SyncEntry, _ target: SyncEntry) -> Bool?

    private let source: SyncTree
    private let target: SyncTree
    private let options: SyncOptions
    private let keeping: AttributeKeeping
    private let hasSameContent: ContentComparison
    private var plan = SyncPlan()
    /// Files that are sent or moved, so that their other names are made anew.
    private var renewed: Set<RelativePath> = []
    /// The first name of each file of the source that has several.
    private var firsts: [SyncEntry.NamedFile: RelativePath] = [:]
    /// Files of the target with several names that stand for one of the source, and which of them does.
    private var kept: [SyncEntry.NamedFile: RelativePath] = [:]
    /// Targets that are in the way, which go with all that is in them.
    private var cleared: Set<RelativePath> = []
    /// Folders in which something is changed.
    private var touched: Set<RelativePath?> = []
    private var differing: Set<RelativePath> = []
    private var blockedFolders: Set<RelativePath> = []
    /// What the source has nothing in the place of.
    private var onlyThere: [SyncEntry] = []
    /// Targets that get another path.
    private var movedAway: Set<RelativePath> = []
    /// Folders of the target in which, or in a folder of which, something has a name that no path can have: it would go with them.
    private let holding: Set<RelativePath>

    /// - Parameter rights: what the side that is changed leaves its own user of what it stores.
    init(
        _ source: SyncTree, _ target: SyncTree, _ options: SyncOptions, rights: OwnerRights = .none,
        hasSameContent: @escaping ContentComparison
    ) {
        (self.source, self.target, self.options) = (source, target, options)
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
            // To move something takes it away from where it is.
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
        guard !isBelowBlocked(entry) else { return block(entry, "The folder that it is in cannot be made.") }
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
            return block(entry, "Something that is left out of the sync is in the way.")
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
        guard makeRoom(for: entry, there) else { return }
        if let there, there.isFile { clear(there) } else { remember(there, at: entry.path) }
        plan.links.append(entry)
        touch(entry)
    }

    private mutating func compare(file entry: SyncEntry, _ there: SyncEntry?) {
        if let name = entry.named {
            if let first = firsts[name] { return compare(otherNameOf: first, entry, there) }
            firsts[name] = entry.path
        }
        if let there, there.form == entry.form {
            let isSame = isSame(entry, there)
            // What is not known may turn out to be the same when it is sent.
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
        guard makeRoom(for: entry, there) else { return }
        remember(there, at: entry.path)
        plan.files.append(SyncPlan.File(entry: entry, isNew: there == nil))
        renewed.insert(entry.path)
        touch(entry)
    }

    /// Several files of the source are one with several names in the target. An upload would find its content, and leave it so.
    private mutating func part(_ entry: SyncEntry, _ there: SyncEntry) {
        clear(there)
        plan.files.append(SyncPlan.File(entry: entry, isNew: false))
        renewed.insert(entry.path)
    }

    private mutating func compare(otherNameOf first: RelativePath, _ entry: SyncEntry, _ there: SyncEntry?) {
        if let there, there.named != nil, there.named == target[first]?.named, !renewed.contains(first) {
            return plan.unchanged += 1
        }
        guard makeRoom(for: entry, there) else { return }
        remember(there, at: entry.path)
        plan.hardLinks.append(SyncPlan.HardLink(entry: entry, first: first))
        touch(entry)
    }

    /// Whether the content is taken for the same; nothing where that is not known. To read a file of the same size and another
    /// time is less than to send it.
    private func isSame(_ entry: SyncEntry, _ there: SyncEntry) -> Bool? {
        if !options.comparesContent, entry.modified == there.modified { return true }
        return hasSameContent(entry, there)
    }

    private func differs(_ entry: SyncEntry, _ there: SyncEntry) -> Bool {
        entry.differs(from: there, keeping)
    }

    /// - Parameter there: nothing and a folder have given way before something else comes.
    private mutating func remember(_ there: SyncEntry?, at path: RelativePath) {
        guard let there, !there.isFolder else { return }
        plan.compared[path] = there
    }

    private mutating func touch(_ entry: SyncEntry) { touched.insert(entry.path.parent) }
}

// MARK: What is in the way

extension SyncPlanner {
    /// Lets go what has the path of something else.
    ///
    /// - Returns: whether the path is free then, or what has it gives way by itself.
    private mutating func makeRoom(for entry: SyncEntry, _ there: SyncEntry?) -> Bool {
        guard let there, there.isFolder else { return true }
        guard options.deletes else {
            block(entry, "A folder is in the way; --delete removes it.")
            return false
        }
        guard !hasLeftOut(below: there.path) else {
            block(entry, "A folder is in the way, and something in it is left out of the sync.")
            return false
        }
        guard !holding.contains(there.path) else {
            block(entry, "A folder is in the way, and something in it has a name that no path can have.")
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

    /// Whether a folder of the target has something in it that the selection leaves out.
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
    /// What only the target has, but for what is in the way and what the selection leaves out.
    private var leftovers: [SyncEntry] { onlyThere.filter { !isCleared($0) && !isLeftOut($0.path) } }

    /// Whether the selection leaves it out on either side.
    private func isLeftOut(_ path: RelativePath) -> Bool {
        [source.leftOut, target.leftOut].contains { leftOut in
            !leftOut.isEmpty && (leftOut.contains(path) || path.folders.contains { leftOut.contains($0) })
        }
    }

    /// Files that are new here and have the size, the time and the content of one that is gone there. Only then it is worth
    /// reading them.
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

    /// What can be told of a file that was moved without a look at its content.
    struct MoveKey: Hashable {
        let size: UInt64
        let modified: Timestamp

        init(_ entry: SyncEntry) { (size, modified) = (entry.size, entry.modified) }
    }

    private mutating func findRemovals() {
        let kept = holding.union(target.leftOut.flatMap(\.folders))
        var removed: Set<RelativePath> = []
        for entry in leftovers where !movedAway.contains(entry.path) {
            guard !entry.isFolder || !kept.contains(entry.path) else { continue }
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

// MARK: Folders

extension SyncPlanner {
    /// What is done in a folder changes its time, and needs the permission to do it.
    private mutating func finishFolders() {
        let made = Set(plan.folders.map(\.path))
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
        // Whatever is done needs names in the folder itself on its way.
        plan.top = (target.top == nil || differs || !plan.isEmpty, differs)
    }
}
