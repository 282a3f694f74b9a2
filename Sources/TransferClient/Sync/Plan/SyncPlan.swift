import TransferModel
import TransferPorts
import TransferStore

/// What has to be done to make a tree the same as another one, in the order in which it is done.
struct SyncPlan: Sendable {
    /// A file that is elsewhere in the target.
    struct Move: Sendable {
        let from: RelativePath
        let entry: SyncEntry
        /// What is moved, as it was compared, where the plan has nothing for the path that it gets.
        var compared: SyncEntry?
    }

    /// A file that is sent.
    struct File: Sendable {
        let entry: SyncEntry
        /// Whether nothing has its path.
        let isNew: Bool
        /// Where it is stored; nil for its own path.
        var copy: RelativePath?
        /// Whether it takes the place of nothing, whatever is there.
        var replacesNothing = false
        /// Whether what it replaces is what a sync has seen, so that the other side has had it.
        var replacesKnown = true
        /// What was sent of it, where that is known.
        var sent: SyncRecord.Version?
        /// The part of the server's trash that has what it has replaced.
        var trash: TrashedBatch?

        /// Where it is stored.
        var target: RelativePath { copy ?? entry.path }
    }

    /// A file that both sides have changed.
    struct Conflict {
        /// Of the source; of the target, where the source lacks it.
        let entry: SyncEntry
        let there: SyncEntry
        /// Where the source's is stored; nil where it is not.
        var copy: RelativePath?
        /// Whether that is done already.
        var isStored = false
        /// Whether both may have one content.
        var isDoubtful = false
        let message: String
    }

    /// A name of a file that has another one.
    struct HardLink: Sendable {
        let entry: SyncEntry
        let first: RelativePath
    }

    /// Something with all that is in it.
    struct Removal: Sendable {
        let entry: SyncEntry
        /// It, and what is below it.
        let entries: [SyncEntry]
    }

    /// Folders that nothing can be changed in before their permissions are: with those they get for a while.
    var unlocked: [SyncEntry] = []

    /// What stands in the way of something else, and is removed first.
    var obstacles: [Removal] = []

    /// Files of the source that had to be read to be compared and could not be, and why.
    var unreadable: [(path: RelativePath, message: String)] = []

    /// What cannot be done, and why.
    var blocked: [(entry: SyncEntry, message: String)] = []

    var folders: [SyncEntry] = []

    /// Symbolic links that give way to one of these.
    var replacedLinks: Set<RelativePath> = []
    var moves: [Move] = []
    var files: [File] = []
    var conflicts: [Conflict] = []

    /// Files of the source that are newer in the target, and stay so.
    var kept: [SyncEntry] = []

    /// Files of the source that have a conflict in which the target keeps both, as an earlier sync has settled it.
    var settled: Set<RelativePath> = []
    var links: [SyncEntry] = []
    var hardLinks: [HardLink] = []

    /// What the source doesn't have.
    var removals: [Removal] = []

    /// Files and links whose attributes alone differ.
    var attributes: [SyncEntry] = []

    /// Files and links of the target as they were compared, of all that are replaced, moved or given attributes; by the path that they
    /// get. At other paths that something comes to nothing was.
    var compared: [RelativePath: SyncEntry] = [:]

    /// A name that stays of files of the target that have several.
    var surviving: [SyncEntry.NamedFile: RelativePath] = [:]

    /// Folders that are given theirs at the end, because what is done in them changes their time; the innermost first. Those that
    /// differed before are told.
    var folderAttributes: [(entry: SyncEntry, isTold: Bool)] = []

    /// Whether the top is given its attributes, and whether that is told.
    var top: (isSet: Bool, isTold: Bool) = (false, false)

    var unchanged = 0

    /// Files and links of the target whose places others take.
    var replaced: [SyncEntry] {
        let paths = files.map(\.entry.path) + hardLinks.map(\.entry.path) + links.map(\.path) + replacedLinks
        return paths.compactMap { path in compared[path].flatMap { $0.path == path && !$0.isFolder ? $0 : nil } }
    }

    /// Takes back what cannot be sent, because it could not be read either when it was compared.
    mutating func leave(unreadable reasons: [RelativePath: String]) {
        guard !reasons.isEmpty else { return }
        unreadable = files.compactMap { file in reasons[file.entry.path].map { (file.entry.path, $0) } }
        unreadable += conflicts.compactMap { conflict in
            reasons[conflict.entry.path].map { (conflict.entry.path, $0) }
        }
        files.removeAll { reasons[$0.entry.path] != nil }
        conflicts.removeAll { reasons[$0.entry.path] != nil }
        // What would have given way to it stays.
        obstacles.removeAll { reasons[$0.entry.path] != nil }
    }

    /// What was compared of a target on this machine, by the path that it gets.
    ///
    /// - Returns: nothing where nothing was there.
    func compared(at path: RelativePath) -> ComparedFile? {
        guard let there = compared[path], let version = there.version else { return nil }
        return ComparedFile(version, tolerating: there.path != path || there.named != nil ? .names : .none)
    }

    /// Something that is removed, as it was compared. What is in a folder comes and goes, and a name of a file may go that has another
    /// one left, which the sync itself may have changed.
    func compared(_ removed: SyncEntry) -> ComparedFile? {
        guard let version = removed.version else { return nil }
        if removed.isFolder { return ComparedFile(version, tolerating: .entries) }
        guard let name = removed.named else { return ComparedFile(version) }
        return ComparedFile(version, tolerating: surviving[name] != nil ? .changes : .names)
    }

    /// Bytes of all files that are sent.
    var bytes: UInt64 { files.reduce(0) { $0.addingClamped($1.entry.size) } }

    /// Entries that are removed, what is below folders counted; also those of folders that are in the way. A file that is, is
    /// replaced.
    var removedCount: Int {
        (removals + obstacles.filter { $0.entry.isFolder }).reduce(0) { $0 + $1.entries.count }
    }
}
