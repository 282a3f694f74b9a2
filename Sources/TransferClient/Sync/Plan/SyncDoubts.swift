import TransferModel

/// Files whose digests are needed to decide what is done with them. The client asks for these digests when both trees
/// are known, because a list with all digests costs more.
struct SyncDoubts {
    private let server: SyncTree
    private let here: SyncTree
    /// Whether a file of one tree may be a moved file of the other one.
    private let findsMoves: Bool

    init(_ server: SyncTree, _ here: SyncTree, findsMoves: Bool) {
        (self.server, self.here, self.findsMoves) = (server, here, findsMoves)
    }

    /// The server's files whose digests are needed, each once.
    func files() -> [SyncEntry] {
        var found: [SyncEntry] = []
        var alone: [SyncEntry] = []
        var others: Set<SyncPlanner.MoveKey> = []
        SyncTree.forEach(server, here) { there, entry in
            switch (there, entry) {
            case (let there?, let entry?) where there.isFile && entry.isFile && there.size == entry.size:
                if there.modified != entry.modified { found.append(there) }
            case (let there?, nil) where there.size > 0: alone.append(there)
            case (nil, let entry?) where entry.size > 0: others.insert(SyncPlanner.MoveKey(entry))
            default: break
            }
        }
        guard findsMoves, !others.isEmpty else { return found }
        return found + alone.filter { others.contains(SyncPlanner.MoveKey($0)) }
    }
}
