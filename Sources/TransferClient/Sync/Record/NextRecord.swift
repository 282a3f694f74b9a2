import TransferModel

/// What the next sync is to know, made of what this one has found and of what has come of its plan.
struct NextRecord: Sendable {
    private let trees: (source: SyncTree, target: SyncTree)
    private let plan: SyncPlan
    private let old: SyncRecord
    /// The side that is changed.
    private let side: SyncRecord.Side
    /// Whether there was a record before: otherwise what is older gives way.
    private let isFirst: Bool
    /// Further hard links of files that the plan changes under their first name alone, each with that first name.
    private let following: [RelativePath: RelativePath]
    private let open: Set<RelativePath>

    /// - Parameters:
    ///   - old: what an earlier sync has seen.
    ///   - side: that is changed.
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

    /// For as long as the sync runs, and for the next one where this one is killed: what has been seen, and of the target what it is
    /// about to lose and to get. So whichever of the two the target has then is known, and nothing else; the source is where it was.
    var underWay: SyncRecord {
        var record = seen(SyncOutcome())
        keep(old, in: &record, SyncOutcome())
        // Only another time: the content is the source's.
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

    /// Adds the versions that a path may have in the target because its file is changed under another hard link: a sync sets attributes
    /// after content and names. A path without an entry gets none, because the next sync would take its file for edited.
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

    /// Whether it is replaced because a sync has seen it, or because it is older: what gives way only because this sync was told so is
    /// asked about again by the next one.
    private func givesWay(_ there: SyncEntry, to entry: SyncEntry) -> Bool {
        isFirst ? there.isOlder(than: entry) : old[entry.path]?.knows(.init(there), on: side) ?? false
    }

    func record(after outcome: SyncOutcome) -> SyncRecord {
        var record = seen(outcome)
        keep(underWay, in: &record, outcome)
        return record
    }

    /// What both sides have the same by now.
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

    /// Adds what an earlier record knows of paths that nothing has come of.
    private func keep(_ earlier: SyncRecord, in record: inout SyncRecord, _ outcome: SyncOutcome) {
        for (path, entry) in earlier.entries where record.entries[path] == nil && isLeft(path, outcome) {
            record.entries[path] = entry
        }
    }

    /// Whether what was known of a path holds still: nothing has come of it in this sync.
    private func isLeft(_ path: RelativePath, _ outcome: SyncOutcome) -> Bool {
        let isRemoved =
            !outcome.removed.isEmpty
            && (outcome.removed.contains(path) || path.folders.contains { outcome.removed.contains($0) })
        guard !isRemoved else { return trees.source[path] != nil }
        if trees.source[path] != nil || trees.target[path] != nil { return true }
        // What was not looked at may be there.
        return !trees.source.isWhole || isLeftOut(path, of: trees.source) || isLeftOut(path, of: trees.target)
    }

    private func isLeftOut(_ path: RelativePath, of tree: SyncTree) -> Bool {
        !tree.leftOut.isEmpty && (tree.leftOut.contains(path) || path.folders.contains { tree.leftOut.contains($0) })
    }
}

extension SyncPlan {
    /// What gets the path of something that gives way, or stays there with other attributes.
    fileprivate var replacing: [SyncEntry] { changedFiles + folders + links }

    /// Files that the target gets content, another name or another time of.
    fileprivate var changedFiles: [SyncEntry] {
        files.map(\.entry) + moves.map(\.entry) + hardLinks.map(\.entry) + attributes.filter(\.isFile)
    }

    /// Whether a sync that is killed may have given the target something that the next one has to know.
    var changesFiles: Bool {
        !(files.isEmpty && moves.isEmpty && hardLinks.isEmpty) || attributes.contains { $0.isFile }
    }

    /// Files of the source that the target did not have as they are when both were compared, and that it may not get.
    fileprivate var openPaths: Set<RelativePath> {
        Set((changedFiles + conflicts.map(\.entry) + kept + blocked.map(\.entry)).map(\.path))
            .union(unreadable.map(\.path)).union(settled)
    }
}
