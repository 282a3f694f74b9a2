import TransferModel

/// One of two trees that are compared: all that is in a folder and below it, as far as it is looked at.
struct SyncTree: Sendable {
    /// What keeps some of a tree from being known, or from having a path on the other side.
    struct Fault: Sendable {
        /// As it may be shown.
        let path: String
        let message: String
    }

    /// What is known of the folder itself.
    struct Top: Sendable {
        let modified: Timestamp
        let permissions: UInt16
        let extra: ExtraAttributes
        /// As of an entry.
        var isPartial = false
    }

    /// Nothing where the folder is not there, or is not to be changed itself.
    var top: Top?

    /// Each folder with all that is in it behind it; in the order of names in each.
    let entries: [SyncEntry]

    /// What the selection leaves out; of a folder, all that is in it.
    let leftOut: Set<RelativePath>

    /// Devices, sockets and the like, which have no content, and what has a name of Transfer's own.
    let specials: [Fault]

    /// What removals that were killed have left under names of their own, what the server stores in, and in a target what has a name
    /// of Transfer's own: neither sent nor removed, and told. All but the last have a path, and are in `leftOut`, too.
    var stranded: [Fault]

    /// What could not be looked at, or cannot be named.
    let faults: [Fault]

    /// Folders with names that no path can have, so that nothing can be done about these. Of a server's tree that is a target.
    let unlisted: [UnlistedNames]

    /// Folders of a target here in which something with a name of Transfer's own stays.
    let held: Set<RelativePath>

    /// - Parameter entries: in any order. Of those with one path the first counts: some file systems tell a name twice that
    ///   changes meanwhile.
    init(
        top: Top?, _ entries: [SyncEntry] = [], leftOut: Set<RelativePath> = [], specials: [Fault] = [],
        stranded: [Fault] = [], faults: [Fault] = [], unlisted: [UnlistedNames] = [],
        held: Set<RelativePath> = []
    ) {
        (self.top, self.stranded, self.unlisted, self.held) = (top, stranded, unlisted, held)
        (self.leftOut, self.specials, self.faults) = (leftOut, specials, faults)
        self.entries = Self.ordered(entries)
    }

    /// Sorts what is in each folder: that takes far fewer looks at paths than to sort all of them.
    private static func ordered(_ entries: [SyncEntry]) -> [SyncEntry] {
        var folders: [RelativePath?: [SyncEntry]] = [:]
        var rest = entries[...]
        // Whoever looked at them has found those of a folder together.
        while let first = rest.first {
            let folder = first.path.parent
            let run = rest.prefix { $0.path.isDirectly(in: folder) }
            folders[folder, default: []] += run
            rest = rest.dropFirst(run.count)
        }
        var ordered: [SyncEntry] = []
        ordered.reserveCapacity(entries.count)
        // The last one comes next.
        var waiting = lastFirst(folders[nil] ?? [])
        while let next = waiting.popLast() {
            ordered.append(next)
            if next.isFolder, let inside = folders[next.path] { waiting += lastFirst(inside) }
        }
        return ordered
    }

    private static func lastFirst(_ folder: [SyncEntry]) -> [SyncEntry] {
        var found: [SyncEntry] = []
        found.reserveCapacity(folder.count)
        for entry in folder.sorted(by: { $0.path.order($1.path) == .behind }) where found.last?.path != entry.path {
            found.append(entry)
        }
        return found
    }

    subscript(path: RelativePath) -> SyncEntry? {
        let place = place(of: path)
        return place < entries.count && entries[place].path == path ? entries[place] : nil
    }

    /// All that is in a folder, and in those in it.
    func entries(below folder: RelativePath) -> ArraySlice<SyncEntry> {
        var place = place(of: folder)
        guard place < entries.count, entries[place].path == folder else { return [] }
        place += 1
        return entries[place...].prefix { $0.path.isBelow(folder) }
    }

    /// Where a path is, or would be.
    private func place(of path: RelativePath) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].path.order(path) == .before { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether everything in it is known, so that what it lacks is known to be lacking.
    var isWhole: Bool { faults.isEmpty }

    /// Files and links; folders alone are what is left where a disk is not mounted.
    var hasContent: Bool { entries.contains { !$0.isFolder } }
}

extension SyncTree {
    /// Goes through two trees side by side, in their order: what has one path in both comes together.
    static func forEach(
        _ source: SyncTree, _ target: SyncTree, _ body: (_ source: SyncEntry?, _ target: SyncEntry?) -> Void
    ) {
        var (place, other) = (0, 0)
        while place < source.entries.count, other < target.entries.count {
            let (one, there) = (source.entries[place], target.entries[other])
            let order = one.path.order(there.path)
            body(order == .behind ? nil : one, order == .before ? nil : there)
            if order != .behind { place += 1 }
            if order != .before { other += 1 }
        }
        for entry in source.entries[place...] { body(entry, nil) }
        for entry in target.entries[other...] { body(nil, entry) }
    }

    /// Without what a filter leaves out that knows more than the one that was there when the tree was looked at.
    func sifted(by filter: SyncFilter, isSource: Bool) -> SyncTree {
        var kept: [SyncEntry] = []
        var closed: RelativePath?
        for entry in entries {
            if let closed, entry.path.isBelow(closed) { continue }
            if entry.isFolder ? filter.enters(entry.path) : filter.takes(entry, isSource: isSource) {
                kept.append(entry)
            } else if entry.isFolder {
                closed = entry.path
            }
        }
        return SyncTree(
            top: top, kept, leftOut: leftOut.union(filter.leftOut), specials: specials, stranded: stranded,
            faults: faults, unlisted: unlisted, held: held)
    }
}
