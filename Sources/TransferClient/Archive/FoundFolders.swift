import TransferModel

/// The folders that a pull has found on the server. A folder is only created or opened here when it, or an entry in it,
/// is wanted.
struct FoundFolders {
    struct Folder {
        /// The path on the server.
        let source: String

        /// The entry, with its path on this machine.
        let entry: SyncEntry
    }

    private var waiting: [RelativePath: [Folder]] = [:]
    /// The wanted folders, including all folders above them.
    private var wanted: Set<RelativePath> = []

    /// - Returns: whether the folder is wanted already; if not, it waits until `want` is called for it.
    mutating func add(_ folder: Folder) -> Bool {
        guard !wanted.contains(folder.entry.path) else { return true }
        waiting[folder.entry.path, default: []].append(folder)
        return false
    }

    /// Marks a folder and all folders above it as wanted.
    ///
    /// - Returns: the waiting folders among them, each after the folders that contain it.
    mutating func want(_ folder: RelativePath) -> [Folder] {
        var ready: [[Folder]] = []
        for path in sequence(first: folder, next: \.parent) {
            guard wanted.insert(path).inserted else { break }
            if let found = waiting.removeValue(forKey: path) { ready.append(found) }
        }
        return ready.reversed().flatMap { $0 }
    }
}
