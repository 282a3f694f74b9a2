import TransferModel

/// One of two trees that are compared: all entries of a folder, at any depth, that the filter takes.
struct SyncTree: Sendable {
    /// Why an entry is unknown, or cannot have a path on the other side.
    struct Fault: Sendable {
        /// The path in a form that may be shown.
        let path: String
        let message: String
    }

    /// Attributes of the top folder.
    struct Top: Sendable {
        let modified: Timestamp
        let permissions: UInt16
        let extra: ExtraAttributes
        /// Whether the folder has extended attributes that the server cannot send.
        var isPartial = false
    }

    /// The top folder; nil if it does not exist, or is not to be changed itself.
    var top: Top?

    /// Each folder is followed by all its content, in the order of names.
    let entries: [SyncEntry]

    /// Paths that the selection leaves out; a folder stands for all its content.
    let leftOut: Set<RelativePath>

    /// Devices, sockets and the like, which have no content, and in a source entries with reserved names.
    let specials: [Fault]

    /// Entries that are neither sent nor removed, but reported: sources that a killed removal has renamed, folders in
    /// which the server stores uploads, and in a target entries with reserved names. All but the last are in `leftOut`,
    /// too.
    var stranded: [Fault]

    /// Entries that could not be read, or whose names cannot be part of a path.
    let faults: [Fault]

    /// Folders with names that cannot be paths, so that nothing can be done with these names. Only the tree of a server
    /// that is the target has them.
    let unlisted: [UnlistedNames]

    /// Folders of a local target that contain an entry with a reserved name, which stays.
    let held: Set<RelativePath>

    /// - Parameter entries: in any order. If two entries have the same path, the first one counts: some file systems
    ///   list a name twice if it changes during the listing.
    init(
        top: Top?, _ entries: [SyncEntry] = [], leftOut: Set<RelativePath> = [], specials: [Fault] = [],
        stranded: [Fault] = [], faults: [Fault] = [], unlisted: [UnlistedNames] = [],
        held: Set<RelativePath> = []
    ) {
        (self.top, self.stranded, self.unlisted, self.held) = (top, stranded, unlisted, held)
        (self.leftOut, self.specials, self.faults) = (leftOut, specials, faults)
        self.entries = Self.ordered(entries)
    }

    /// Sorts the entries of each folder separately: that needs far fewer comparisons than sorting all of them.
    private static func ordered(_ entries: [SyncEntry]) -> [SyncEntry] {
        var folders: [RelativePath?: [SyncEntry]] = [:]
        var rest = entries[...]
        // A scan returns the entries of a folder together.
        while let first = rest.first {
            let folder = first.path.parent
            let run = rest.prefix { $0.path.isDirectly(in: folder) }
            folders[folder, default: []] += run
            rest = rest.dropFirst(run.count)
        }
        var ordered: [SyncEntry] = []
        ordered.reserveCapacity(entries.count)
        // The last element is visited next.
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

    /// All entries in a folder, at any depth.
    func entries(below folder: RelativePath) -> ArraySlice<SyncEntry> {
        var place = place(of: folder)
        guard place < entries.count, entries[place].path == folder else { return [] }
        place += 1
        return entries[place...].prefix { $0.path.isBelow(folder) }
    }

    /// The index of a path, or the index that it would get.
    private func place(of path: RelativePath) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].path.order(path) == .before { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Whether all entries are known, so that a missing one is known to be missing.
    var isWhole: Bool { faults.isEmpty }

    /// Whether there are files or links. A disk that is not mounted may leave folders only.
    var hasContent: Bool { entries.contains { !$0.isFolder } }
}

extension SyncTree {
    /// Goes through two trees in order, and passes entries with the same path together.
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

    /// The tree without the entries that a filter leaves out, after the filter has got ignore files that were unknown
    /// when the tree was scanned.
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
