import TransferModel
import TransferPorts
import TransferSystem

/// Remembers which directories' names are on disk, up to the top, and which could not be synced. The existence of a
/// directory proves nothing: the process that created it may have failed, been killed, or not yet synced its name.
///
/// If another program removes a directory and creates it again between two uploads, the new directory counts as the old
/// one.
final class DurableDirectories: Sendable {
    private struct State {
        var durable: Set<RelativePath> = []
        var doubtful: Set<RelativePath> = []
        /// Whether there were too many to remember, so that all are in doubt.
        var doubtsAll = false
        /// New directories for whose names no sync has begun.
        var unsynced: Set<RelativePath> = []

        mutating func forget(_ path: RelativePath) {
            let below = path.string + "/"
            durable = durable.filter { $0 != path && !$0.string.utf8.starts(with: below.utf8) }
            unsynced = unsynced.filter { $0 != path && !$0.string.utf8.starts(with: below.utf8) }
        }

        mutating func doubt(_ new: Set<RelativePath>) {
            doubtsAll = doubtsAll || doubtful.count + new.count > DurableDirectories.most
            if !doubtsAll { doubtful.formUnion(new) }
            durable.subtract(new)
        }
    }

    /// The most paths to remember, in at most 16 MiB (`Limits.path`). A path that was forgotten costs one more sync.
    static let most = 4096

    private let state: Locked<State>
    private let list: DoubtedList?

    /// - Parameter list: keeps the doubtful paths from one process to the next.
    init(_ list: DoubtedList? = nil) {
        self.list = list
        let doubtful = list.map { $0.read() } ?? []
        state = Locked(State(doubtful: Set(doubtful ?? []), doubtsAll: doubtful == nil))
    }

    /// Whether the names of the directory and its parents need no sync.
    func contains(_ path: RelativePath) -> Bool { state.withLock { $0.durable.contains(path) } }

    /// Remembers directories whose names are durable, with those of their parents.
    func insert(_ new: [RelativePath]) {
        guard !new.isEmpty else { return }
        state.withLock { state in
            if state.durable.count + new.count > Self.most { state.durable.removeAll() }
            state.durable.formUnion(new.prefix(Self.most).filter { !state.doubtful.contains($0) })
            state.unsynced.subtract(new)
        }
    }

    /// Remembers new directories that no sync has covered: a later sync that fails may report the loss of their names.
    func leaveUnsynced(_ new: [RelativePath]) {
        state.withLock { state in
            state.unsynced.formUnion(new)
            // If there are too many to remember, they become doubtful: it is safe to acknowledge too little.
            if state.unsynced.count > Self.most { doubt([], &state) }
        }
    }

    /// Remembers new directories whose sync has failed. A second sync may succeed without having written their names,
    /// and a directory cannot be given its name again as a file can. Directories that no sync has covered become
    /// doubtful as well.
    func doubt(_ new: [RelativePath]) {
        state.withLock { doubt(new, &$0) }
    }

    private func doubt(_ new: [RelativePath], _ state: inout State) {
        let all = state.unsynced.union(new)
        guard !all.isEmpty else { return }
        state.unsynced = []
        state.doubt(all)
        list?.write(state.doubtsAll ? nil : state.doubtful, added: Array(all))
    }

    /// Forgets a directory that was removed, with those below it.
    func forget(_ path: RelativePath) { state.withLock { $0.forget(path) } }

    /// Ends the doubt about a directory that was created again.
    func trust(_ path: RelativePath) {
        state.withLock { state in
            // Another program has removed the earlier directory with this name.
            if state.durable.contains(path) { state.forget(path) }
            state.unsynced.remove(path)
            guard state.doubtful.remove(path) != nil, !state.doubtsAll else { return }
            list?.write(state.doubtful, removed: path)
        }
    }

    /// To be called before a directory is renamed, because doubt is kept by name.
    ///
    /// - Throws: `storageFailed` if the directory, or one below it, is in doubt.
    func checkTrust(below path: RelativePath) throws(Failure) {
        try checkTrust(in: path)
        let doubted = state.withLock { $0.doubtful.first { $0.below(path) != nil } }
        if let doubted { try checkTrust(in: doubted) }
    }

    /// - Throws: `storageFailed` if the directory is in doubt.
    func checkTrust(in path: RelativePath) throws(Failure) {
        guard state.withLock({ $0.doubtsAll || $0.doubtful.contains(path) }) else { return }
        let reason =
            "the server's disk failed when the directory was created. Check the disk, and remove the directory."
        throw Failure(.storageFailed, "Could not store in \(path): \(reason)")
    }
}
