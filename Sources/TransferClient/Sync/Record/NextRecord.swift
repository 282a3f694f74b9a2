import TransferModel

/// Makes the record for the next sync from the trees, the plan and its outcome.
struct NextRecord: Sendable {
    private let trees: (source: SyncTree, target: SyncTree)
    private let plan: SyncPlan
    private let old: SyncRecord
    /// The side that is changed.
    private let side: SyncRecord.Side
    /// Whether there was no record before. Then the target's files may be replaced if they are older.
    private let isFirst: Bool
    /// Further hard links of files that the plan changes under their first name alone, each with that first name.
    private let following: [RelativePath: RelativePath]
    private let open: Set<RelativePath>

    /// - Parameters:
    ///   - old: the record of an earlier sync.
    ///   - side: the side that is changed.
    init(
        _ trees: (source: SyncTree, target: SyncTree), _ plan: SyncPlan, of side: SyncRecord.Side,
        after old: SyncRecord?
    ) {
        (self.trees, self.plan, self.side) = (trees, plan, side)
        (self.old, isFirst) = (old ?? SyncRecord(), old == nil)
        open = plan.openPaths
        following = Self.following(trees.source, open)
    }

    private static func following(_ source: SyncTree, _ open: Set<RelativePath>) -> [RelativePath: RelativePath] {
        var firsts: [SyncEntry.NamedFile: RelativePath] = [:]
        var following: [RelativePath: RelativePath] = [:]
        for entry in source.entries {
            guard let name = entry.named else { continue }
            guard let first = firsts[name] else {
                firsts[name] = entry.path
                continue
            }
            if open.contains(first) && !open.contains(entry.path) { following[entry.path] = first }
        }
        return following
    }

    /// The record while the sync runs, which the next sync reads if this one is killed. It has the versions that both
    /// sides have in common and, for each file that is replaced, the target's old version and the version that is sent.
    /// The next sync then knows these two versions, and no other.
    var underWay: SyncRecord {
        var record = seen(SyncOutcome())
        keep(old, in: &record, SyncOutcome())
        // The target has the content of these files already, and only their attributes are set.
        let same = Set(plan.attributes.map(\.path))
        let followers = following.filter { same.contains($0.value) }.keys.compactMap { trees.source[$0] }
        for entry in plan.replacing + followers {
            guard let there = trees.target[entry.path], there.isFile,
                same.contains(following[entry.path] ?? entry.path) || givesWay(there, to: entry)
            else { continue }
            record.entries[entry.path, default: .init()][side].replacing = .init(there)
        }
        for entry in plan.changedFiles + followers {
            record.entries[entry.path, default: .init()][side].sending = .init(entry)
        }
        addShared(to: &record)
        return record
    }

    /// Adds the versions that a path may have in the target because its file is changed under another hard link: a sync
    /// sets attributes after content and names. A path without an entry in the record gets none, because the next sync
    /// would believe that its file was edited.
    private func addShared(to record: inout SyncRecord) {
        let changed = Dictionary((plan.attributes + plan.files.map(\.entry)).map { ($0.path, $0) }) { first, _ in first
        }
        for entry in trees.target.entries {
            guard let name = entry.named, let kept = plan.surviving[name], kept != entry.path,
                let change = changed[kept]
            else { continue }
            record.entries[entry.path]?[side].shared.insert(.init(change))
        }
        for link in plan.hardLinks where changed[link.first] != nil {
            guard let there = trees.target[link.first], there.isFile else { continue }
            record.entries[link.entry.path]?[side].shared.insert(.init(there))
        }
    }

    /// Whether the target's file may be replaced because a sync has seen it, or because it is older. A file that is
    /// replaced only because of this sync's options is a conflict again in the next sync.
    private func givesWay(_ there: SyncEntry, to entry: SyncEntry) -> Bool {
        isFirst ? there.isOlder(than: entry) : old[entry.path]?.knows(.init(there), on: side) ?? false
    }

    func record(after outcome: SyncOutcome) -> SyncRecord {
        var record = seen(outcome)
        keep(underWay, in: &record, outcome)
        return record
    }

    /// The versions that both sides have in common by now.
    private func seen(_ outcome: SyncOutcome) -> SyncRecord {
        var record = SyncRecord()
        record.entries.reserveCapacity(trees.source.entries.count)
        for entry in trees.source.entries where entry.isFile {
            if let first = following[entry.path] {
                if let version = outcome.done[first] { record.entries[entry.path] = .init(common: version) }
            } else if !open.contains(entry.path) {
                record.entries[entry.path] = .init(common: .init(entry))
            } else if let version = outcome.done[entry.path] {
                record.entries[entry.path] = .init(common: version)
            } else if plan.settled.contains(entry.path) {
                record.entries[entry.path] = old[entry.path]
            } else if let settled = outcome.settled[entry.path] {
                record.entries[entry.path] = .init(common: .init(entry), settled: settled)
            }
        }
        return record
    }

    /// Adds an earlier record's entries of paths that this sync has not changed.
    private func keep(_ earlier: SyncRecord, in record: inout SyncRecord, _ outcome: SyncOutcome) {
        for (path, entry) in earlier.entries where record.entries[path] == nil && isLeft(path, outcome) {
            record.entries[path] = entry
        }
    }

    /// Whether an earlier entry of a path still holds, because this sync has not changed it.
    private func isLeft(_ path: RelativePath, _ outcome: SyncOutcome) -> Bool {
        let isRemoved =
            !outcome.removed.isEmpty
            && (outcome.removed.contains(path) || path.folders.contains { outcome.removed.contains($0) })
        guard !isRemoved else { return trees.source[path] != nil }
        if trees.source[path] != nil || trees.target[path] != nil { return true }
        // A path that was not read may still exist.
        return !trees.source.isWhole || isLeftOut(path, of: trees.source) || isLeftOut(path, of: trees.target)
    }

    private func isLeftOut(_ path: RelativePath, of tree: SyncTree) -> Bool {
        !tree.leftOut.isEmpty && (tree.leftOut.contains(path) || path.folders.contains { tree.leftOut.contains($0) })
    }
}

extension SyncPlan {
    /// Entries that replace others, and files of which only attributes are set.
    fileprivate var replacing: [SyncEntry] { changedFiles + folders + links }

    /// Files that are sent, moved or linked in the target, or get attributes.
    fileprivate var changedFiles: [SyncEntry] {
        files.map(\.entry) + moves.map(\.entry) + hardLinks.map(\.entry) + attributes.filter(\.isFile)
    }

    /// Whether a killed sync may leave changes in the target that the next one has to know.
    var changesFiles: Bool {
        !(files.isEmpty && moves.isEmpty && hardLinks.isEmpty) || attributes.contains { $0.isFile }
    }

    /// Files of the source that the target did not have in the same version when both were compared, and that it may
    /// not get.
    fileprivate var openPaths: Set<RelativePath> {
        Set((changedFiles + conflicts.map(\.entry) + kept + blocked.map(\.entry)).map(\.path))
            .union(unreadable.map(\.path)).union(settled)
    }
}
