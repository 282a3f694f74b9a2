import TransferModel

/// Files whose content decides what is done with them: their digests are asked for when both trees are known, and not with every
/// file of a list.
struct SyncDoubts {
    private let source: SyncTree
    private let target: SyncTree
    /// Whether files that only the target has may be those of the source under another path.
    private let findsMoves: Bool

    init(_ source: SyncTree, _ target: SyncTree, findsMoves: Bool) {
        (self.source, self.target, self.findsMoves) = (source, target, findsMoves)
    }

    /// Those of the target, each once.
    func targets() -> [SyncEntry] {
        var found: [SyncEntry] = []
        var gone: [SyncEntry] = []
        var fresh: Set<SyncPlanner.MoveKey> = []
        SyncTree.forEach(source, target) { entry, there in
            switch (entry, there) {
            case (let entry?, let there?) where entry.isFile && there.isFile && entry.size == there.size:
                if entry.modified != there.modified { found.append(there) }
            case (let entry?, nil) where entry.size > 0: fresh.insert(SyncPlanner.MoveKey(entry))
            case (nil, let there?) where there.size > 0: gone.append(there)
            default: break
            }
        }
        guard findsMoves else { return found }
        return found + gone.filter { fresh.contains(SyncPlanner.MoveKey($0)) }
    }
}
