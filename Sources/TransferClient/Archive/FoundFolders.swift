import TransferModel

/// Folders on a server that a pull has found. Nothing here is touched for one before something is wanted that goes into it, or the
/// folder itself.
struct FoundFolders {
    struct Folder {
        /// The path on the server.
        let source: String

        /// With the path that it is to have here.
        let entry: SyncEntry
    }

    private var waiting: [RelativePath: [Folder]] = [:]
    /// With each of these, all that it is in.
    private var wanted: Set<RelativePath> = []

    /// - Returns: whether it is wanted already, so that it does not wait.
    mutating func add(_ folder: Folder) -> Bool {
        guard !wanted.contains(folder.entry.path) else { return true }
        waiting[folder.entry.path, default: []].append(folder)
        return false
    }

    /// A folder is wanted, and with it all that it is in.
    ///
    /// - Returns: what has waited for that, each behind the one that it is in.
    mutating func want(_ folder: RelativePath) -> [Folder] {
        var ready: [[Folder]] = []
        for path in sequence(first: folder, next: \.parent) {
            guard wanted.insert(path).inserted else { break }
            if let found = waiting.removeValue(forKey: path) { ready.append(found) }
        }
        return ready.reversed().flatMap { $0 }
    }
}
