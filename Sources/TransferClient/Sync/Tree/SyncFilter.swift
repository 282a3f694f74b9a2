import Synchronization
import TransferModel
import TransferSystem

/// Decides which entries of both trees are compared. The rules of the selection apply to both sides, and so do the
/// ignore files of the source, which only the source's scan knows.
final class SyncFilter: Sendable {
    private let selection: Selection
    private let filters: Locked<[RelativePath: WalkFilter]>
    private let left = Locked<Set<RelativePath>>([])
    private let top: WalkFilter
    private let hasRead: Atomic<Bool>
    /// Folders that are left out, whatever the rules say.
    private let excluded: Set<RelativePath>

    /// - Parameters:
    ///   - source: the filter of the other tree, if that tree was scanned before.
    ///   - excluded: folders that are left out, whatever the selection says.
    init(_ selection: Selection, like source: SyncFilter? = nil, without excluded: Set<RelativePath> = []) {
        (self.selection, self.excluded) = (selection, excluded)
        top = source?.top ?? WalkFilter(selection)
        filters = Locked(source?.filters.withLock { $0 } ?? [:])
        hasRead = Atomic(source?.hasIgnoreFiles ?? false)
    }

    private init(_ selection: Selection, top: WalkFilter, without excluded: Set<RelativePath>) {
        (self.selection, self.top, self.excluded) = (selection, top, excluded)
        filters = Locked([:])
        // The top folder has an ignore file.
        hasRead = Atomic(true)
    }

    /// The same filter with the ignore file of the top folder.
    func reading(topIn directory: SourceDirectory) throws(IgnoreFile.Fault) -> SyncFilter {
        SyncFilter(selection, top: try top.reading(in: directory), without: excluded)
    }

    /// Paths that were left out so far.
    var leftOut: Set<RelativePath> { left.withLock { $0 } }

    /// Whether any ignore file was read.
    var hasIgnoreFiles: Bool { hasRead.load(ordering: .relaxed) }

    /// The name of ignore files; nil if there are to be no ignore files.
    var ignoreFile: String? { selection.ignoreFile }

    /// Whether a folder is entered. It must be called before the content of the folder is examined.
    func enters(_ path: RelativePath) -> Bool {
        let known = filters.withLock { $0[path] }
        guard !isExcluded(path), let filter = known ?? filter(of: path.parent).entering(String(path.name)) else {
            left.withLock { _ = $0.insert(path) }
            return false
        }
        filters.withLock { $0[path] = filter }
        return true
    }

    private func isExcluded(_ path: RelativePath) -> Bool { !excluded.isEmpty && excluded.contains(path) }

    /// Adds the ignore file of a folder.
    func read(_ path: RelativePath, in directory: SourceDirectory) throws(IgnoreFile.Fault) {
        let filter = try filter(of: path).reading(in: directory)
        filters.withLock { $0[path] = filter }
        hasRead.store(true, ordering: .relaxed)
    }

    /// Leaves a path out, whatever the rules say.
    func leaveOut(_ path: RelativePath) { left.withLock { _ = $0.insert(path) } }

    /// Whether a file or link is compared.
    ///
    /// - Parameter isSource: whether size and time apply as well. They do not in a target, where they say nothing of
    ///   what is sent.
    func takes(_ entry: SyncEntry, isSource: Bool) -> Bool {
        takes(entry, by: filter(of: entry.path.parent), isSource: isSource)
    }

    /// The same for a caller that knows the rules in the entry's folder.
    func takes(_ entry: SyncEntry, by filter: WalkFilter, isSource: Bool) -> Bool {
        let isWanted =
            !isExcluded(entry.path) && (filter.sendsAll || filter.sends(String(entry.path.name)))
            && (!isSource || !entry.isFile || accepts(entry))
        if !isWanted { left.withLock { _ = $0.insert(entry.path) } }
        return isWanted
    }

    private func accepts(_ entry: SyncEntry) -> Bool {
        selection.accepts(size: entry.size, (entry.modified.seconds, entry.modified.nanoseconds))
    }

    /// The rules in a folder that was entered; nil means the top folder.
    func filter(of folder: RelativePath?) -> WalkFilter {
        guard let folder else { return top }
        return filters.withLock { $0[folder] } ?? top
    }
}
