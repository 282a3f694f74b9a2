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

    /// Before anything is changed: it also has what the target is about to get.
    var underWay: SyncRecord {
        var record = old
        for entry in plan.sentFiles { record.entries[entry.path, default: .init()].sending = .init(entry) }
        return record
    }

    func record(after outcome: SyncOutcome) -> SyncRecord {
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
        // Their content is the same, and not yet all else.
        for entry in plan.attributes where entry.isFile && outcome.done[entry.path] == nil {
            if let there = trees.target[entry.path] { record.entries[entry.path] = .init(common: .init(there)) }
        }
        for (path, entry) in underWay.entries where record.entries[path] == nil && isLeft(path, outcome) {
            record.entries[path] = entry
        }
        return record
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
    /// What the target gets content of, or another name.
    fileprivate var sentFiles: [SyncEntry] {
        files.map(\.entry) + moves.map(\.entry) + hardLinks.map(\.entry)
    }

    /// Whether a sync that is killed may have given the target content.
    var changesFiles: Bool { !(files.isEmpty && moves.isEmpty && hardLinks.isEmpty) }

    /// Files of the source that the target did not have as they are when both were compared, and that it may not get.
    fileprivate var openPaths: Set<RelativePath> {
        Set((sentFiles + attributes + conflicts.map(\.entry) + kept + blocked.map(\.entry)).map(\.path))
            .union(unreadable.map(\.path)).union(settled)
    }
}
