import TransferModel
import TransferPorts
import TransferStore

/// The changes that make one tree the same as another one, in the order in which they are made.
struct SyncPlan: Sendable {
    /// A file that the target has under another path.
    struct Move: Sendable {
        let from: RelativePath
        let entry: SyncEntry
        /// The entry of the moved file as it was compared, if `SyncPlan.compared` does not have it.
        var compared: SyncEntry?
    }

    /// A file that is sent.
    struct File: Sendable {
        let entry: SyncEntry
        /// Whether its path is free in the target.
        let isNew: Bool
        /// The path at which it is stored; nil for its own path.
        var copy: RelativePath?
        /// Whether it must not replace any file.
        var replacesNothing = false
        /// Whether the side that the sync does not change has had the replaced version, by the record of earlier syncs;
        /// true if no file is replaced.
        var replacesKnown = true
        /// The version that was sent, if known.
        var sent: SyncRecord.Version?
        /// The batch in the server's trash that keeps the replaced file.
        var trash: TrashedBatch?

        /// The path at which it is stored.
        var target: RelativePath { copy ?? entry.path }
    }

    /// A file that both sides have changed.
    struct Conflict {
        /// The source's file; the target's if the source lacks it.
        let entry: SyncEntry
        let there: SyncEntry
        /// The path at which the source's version is stored; nil if it is not stored.
        var copy: RelativePath?
        /// Whether the target already has the source's version at `copy`.
        var isStored = false
        /// Whether it is unknown if both versions have the same content.
        var isDoubtful = false
        let message: String
    }

    /// A further hard link of a file.
    struct HardLink: Sendable {
        let entry: SyncEntry
        let first: RelativePath
    }

    /// An entry with everything that is in it.
    struct Removal: Sendable {
        let entry: SyncEntry
        /// The entry, and all entries below it.
        let entries: [SyncEntry]
    }

    /// Closed folders of the target in which changes are made. Their owner has all permissions until the changes are
    /// done.
    var unlocked: [SyncEntry] = []

    /// Entries of the target whose paths are needed for entries of the source. They are removed first.
    var obstacles: [Removal] = []

    /// Files of the source that could not be read for a comparison, and why.
    var unreadable: [(path: RelativePath, message: String)] = []

    /// Entries of the source that cannot be created, and why.
    var blocked: [(entry: SyncEntry, message: String)] = []

    var folders: [SyncEntry] = []

    /// Symbolic links of the target that `folders` replace.
    var replacedLinks: Set<RelativePath> = []
    var moves: [Move] = []
    var files: [File] = []
    var conflicts: [Conflict] = []

    /// Files of the source that the target has in a newer version.
    var kept: [SyncEntry] = []

    /// Files of the source whose conflict an earlier sync has settled by keeping both.
    var settled: Set<RelativePath> = []
    var links: [SyncEntry] = []
    var hardLinks: [HardLink] = []

    /// Entries that the source doesn't have.
    var removals: [Removal] = []

    /// Files and links of which only attributes differ.
    var attributes: [SyncEntry] = []

    /// The target's files and links that are replaced, moved or given attributes, as they were compared, by their path
    /// after the change. A path of the plan that has no entry here was free.
    var compared: [RelativePath: SyncEntry] = [:]

    /// For each file of the target with several names, a name that stays.
    var surviving: [SyncEntry.NamedFile: RelativePath] = [:]

    /// Folders whose attributes are set at the end, the innermost first, because changes in a folder change its time.
    /// Only folders whose attributes differed before are reported.
    var folderAttributes: [(entry: SyncEntry, isTold: Bool)] = []

    /// Whether the attributes of the top folder are set, and whether that is reported.
    var top: (isSet: Bool, isTold: Bool) = (false, false)

    var unchanged = 0

    /// Files and links of the target that are replaced.
    var replaced: [SyncEntry] {
        let paths = files.map(\.entry.path) + hardLinks.map(\.entry.path) + links.map(\.path) + replacedLinks
        return paths.compactMap { path in compared[path].flatMap { $0.path == path && !$0.isFolder ? $0 : nil } }
    }

    /// Takes files out of the plan that could not be read for the comparison, and so cannot be sent either.
    mutating func leave(unreadable reasons: [RelativePath: String]) {
        guard !reasons.isEmpty else { return }
        unreadable = files.compactMap { file in reasons[file.entry.path].map { (file.entry.path, $0) } }
        unreadable += conflicts.compactMap { conflict in
            reasons[conflict.entry.path].map { (conflict.entry.path, $0) }
        }
        files.removeAll { reasons[$0.entry.path] != nil }
        conflicts.removeAll { reasons[$0.entry.path] != nil }
        // The entries in the way of these files stay.
        obstacles.removeAll { reasons[$0.entry.path] != nil }
    }

    /// For a target on this machine: what was compared, by its path after the change.
    ///
    /// - Returns: nil if the path was free.
    func compared(at path: RelativePath) -> ComparedFile? {
        guard let there = compared[path], let version = there.version else { return nil }
        return ComparedFile(version, tolerating: there.path != path || there.named != nil ? .names : .none)
    }

    /// An entry that is removed, as it was compared. The content of a folder may have changed since. A file that keeps
    /// another name may have changed, because the sync itself may have changed it.
    func compared(_ removed: SyncEntry) -> ComparedFile? {
        guard let version = removed.version else { return nil }
        if removed.isFolder { return ComparedFile(version, tolerating: .entries) }
        guard let name = removed.named else { return ComparedFile(version) }
        return ComparedFile(version, tolerating: surviving[name] != nil ? .changes : .names)
    }

    /// Bytes of all files that are sent.
    var bytes: UInt64 { files.reduce(0) { $0.addingClamped($1.entry.size) } }

    /// Entries that are removed, including those in folders, and in folders that are in the way. A file that is in the
    /// way counts as replaced.
    var removedCount: Int {
        (removals + obstacles.filter { $0.entry.isFolder }).reduce(0) { $0 + $1.entries.count }
    }
}
