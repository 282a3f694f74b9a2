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

    /// A folder comes before what is in it.
    let entries: [SyncEntry]

    /// What the selection leaves out; of a folder, all that is in it.
    let leftOut: Set<RelativePath>

    /// Devices, sockets and the like, which have no content.
    let specials: [Fault]

    /// What could not be looked at, or cannot be named.
    let faults: [Fault]

    private let places: [RelativePath: Int]

    init(
        top: Top?, _ entries: [SyncEntry] = [], leftOut: Set<RelativePath> = [], specials: [Fault] = [],
        faults: [Fault] = []
    ) {
        self.top = top
        self.entries = entries.sorted { PathKey($0.path.string) < PathKey($1.path.string) }
        (self.leftOut, self.specials, self.faults) = (leftOut, specials, faults)
        places = Dictionary(self.entries.enumerated().map { ($1.path, $0) }) { first, _ in first }
    }

    subscript(path: RelativePath) -> SyncEntry? { places[path].map { entries[$0] } }

    /// All that is in a folder, and in those in it.
    func entries(below folder: RelativePath) -> ArraySlice<SyncEntry> {
        let prefix = folder.string + "/"
        let first = firstPlace { !$0.utf8.lexicographicallyPrecedes(prefix.utf8) }
        let end = firstPlace { path in
            !path.utf8.lexicographicallyPrecedes(prefix.utf8) && !path.utf8.starts(with: prefix.utf8)
        }
        return entries[first..<end]
    }

    /// By bisection: of all that come before the place `isBehind` is false, and true of all others.
    private func firstPlace(_ isBehind: (String) -> Bool) -> Int {
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(entries[middle].path.string) { high = middle } else { low = middle + 1 }
        }
        return low
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
