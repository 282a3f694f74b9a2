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
    }

    /// Nothing where the folder is not there, or is not to be changed itself.
    var top: Top?

    /// Each folder with all that is in it behind it; in the order of names in each.
    let entries: [SyncEntry]

    /// What the selection leaves out; of a folder, all that is in it.
    let leftOut: Set<RelativePath>

    /// Devices, sockets and the like, which have no content.
    let specials: [Fault]

    /// What could not be looked at, or cannot be named.
    let faults: [Fault]

    /// Folders with names that no path can have, so that nothing can be done about these. Of a server's tree that is a target.
    let unlisted: [UnlistedNames]

    private let places: [RelativePath: Int]

    /// Of each entry, where what is in it ends.
    private let ends: [Int]

    init(
        top: Top?, _ entries: [SyncEntry] = [], leftOut: Set<RelativePath> = [], specials: [Fault] = [],
        faults: [Fault] = [], unlisted: [UnlistedNames] = []
    ) {
        (self.top, self.unlisted) = (top, unlisted)
        (self.leftOut, self.specials, self.faults) = (leftOut, specials, faults)
        (self.entries, ends) = Self.ordered(entries)
        places = Dictionary(self.entries.enumerated().map { ($1.path, $0) }) { first, _ in first }
    }

    /// Faster than to sort all paths, which have long beginnings in common.
    private static func ordered(_ entries: [SyncEntry]) -> ([SyncEntry], ends: [Int]) {
        var folders: [RelativePath?: [SyncEntry]] = [:]
        // Some file systems tell a name twice that changes meanwhile.
        var seen: Set<RelativePath> = []
        for entry in entries where seen.insert(entry.path).inserted {
            folders[entry.path.parent, default: []].append(entry)
        }
        let orders = folders.mapValues { $0.sorted { PathKey($1.path.string) < PathKey($0.path.string) } }
        var ordered: [SyncEntry] = []
        ordered.reserveCapacity(entries.count)
        var ends = [Int](repeating: 0, count: entries.count)
        // The last one comes next; nothing stands for the end of a folder.
        var waiting: [(entry: SyncEntry?, place: Int)] = (orders[nil] ?? []).map { ($0, 0) }
        while let (next, place) = waiting.popLast() {
            guard let next else {
                ends[place] = ordered.count
                continue
            }
            ends[ordered.count] = ordered.count + 1
            waiting.append((nil, ordered.count))
            ordered.append(next)
            if next.isFolder { waiting += (orders[next.path] ?? []).map { ($0, 0) } }
        }
        return (ordered, ends)
    }

    subscript(path: RelativePath) -> SyncEntry? { places[path].map { entries[$0] } }

    /// All that is in a folder, and in those in it.
    func entries(below folder: RelativePath) -> ArraySlice<SyncEntry> {
        guard let place = places[folder] else { return [] }
        return entries[place + 1..<max(place + 1, ends[place])]
    }

    /// Whether everything in it is known, so that what it lacks is known to be lacking.
    var isWhole: Bool { faults.isEmpty }

    /// Files and links; folders alone are what is left where a disk is not mounted.
    var hasContent: Bool { entries.contains { !$0.isFolder } }
}

extension RelativePath {
    /// The folders that it is in, from the inside out.
    var folders: some Sequence<RelativePath> { sequence(first: self, next: \.parent).dropFirst() }
}
