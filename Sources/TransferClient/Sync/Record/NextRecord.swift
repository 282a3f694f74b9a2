import TransferModel

/// What the next sync is to know, made of what this one has found and of what has come of its plan.
struct NextRecord: Sendable {
    private let trees: (source: SyncTree, target: SyncTree)
    private let plan: SyncPlan
    private let old: SyncRecord

    /// - Parameter old: what an earlier sync has seen.
    init(_ trees: (source: SyncTree, target: SyncTree), _ plan: SyncPlan, after old: SyncRecord?) {
        (self.trees, self.plan, self.old) = (trees, plan, old ?? SyncRecord())
    }

    /// For as long as the sync runs, and for the next one where this one is killed: what has been seen, of what is replaced the version
    /// that may be, and what the target is about to get. So whichever of the two the target has then is known.
    var underWay: SyncRecord {
        var record = seen(SyncOutcome())
        keep(old, in: &record, SyncOutcome())
        for entry in plan.replacing {
            guard let there = trees.target[entry.path], there.isFile else { continue }
            record.entries[entry.path] = .init(common: .init(there))
        }
        for entry in plan.changedFiles { record.entries[entry.path, default: .init()].sending = .init(entry) }
        return record
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
        let open = plan.openPaths
        for entry in trees.source.entries where entry.isFile {
            if !open.contains(entry.path) {
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
