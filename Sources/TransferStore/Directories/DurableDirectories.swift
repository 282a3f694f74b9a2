import TransferModel
import TransferPorts
import TransferSystem

/// What is known of directories' own names: which of them are on disk, up to the top, and which could not be written.
/// That a directory exists says nothing: whoever made it may have failed, or been killed, or not yet have come to make
/// its name durable.
///
/// A directory that somebody else removes and makes again between two uploads is taken for the old one.
final class DurableDirectories: Sendable {
    private struct State {
        var durable: Set<RelativePath> = []
        var doubtful: Set<RelativePath> = []
        /// There were too many to remember.
        var doubtsAll = false
        /// Made, and no sync of their names has begun.
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

    /// Paths to remember, for 16 MiB at most (`Limits.path`). Without one there is a sync more, of nothing.
    static let most = 4096

    private let state: Locked<State>
    private let list: DoubtedList?

    /// - Parameter list: keeps what is doubtful from one process to the next.
    init(_ list: DoubtedList? = nil) {
        self.list = list
        let doubtful = list.map { $0.read() } ?? []
        state = Locked(State(doubtful: Set(doubtful ?? []), doubtsAll: doubtful == nil))
    }

    /// Whether the name needs no sync, nor those above it.
    func contains(_ path: RelativePath) -> Bool { state.withLock { $0.durable.contains(path) } }

    /// Remembers directories that have been made durable, and everything above them.
    func insert(_ new: [RelativePath]) {
        guard !new.isEmpty else { return }
        state.withLock { state in
            if state.durable.count + new.count > Self.most { state.durable.removeAll() }
            state.durable.formUnion(new.prefix(Self.most).filter { !state.doubtful.contains($0) })
            state.unsynced.subtract(new)
        }
    }

    /// Remembers directories that were made, and that no sync has been about: one that fails later may be told of the loss of
    /// their names.
    func leaveUnsynced(_ new: [RelativePath]) {
        state.withLock { state in
            state.unsynced.formUnion(new)
            // Too many to remember: acknowledging too little is safe.
            if state.unsynced.count > Self.most { doubt([], &state) }
        }
    }

    /// Remembers directories that were made and then could not be synced. A second sync may succeed without having
    /// written their names, and a directory cannot be given its name again as a file can. Those that no sync has been about
    /// are doubted as well.
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

    /// Forgets a directory that was removed, and those that were in it.
    func forget(_ path: RelativePath) { state.withLock { $0.forget(path) } }

    /// Forgets the doubt about a directory that was made anew.
    func trust(_ path: RelativePath) {
        state.withLock { state in
            // Somebody else has removed the one that had the name.
            if state.durable.contains(path) { state.forget(path) }
            state.unsynced.remove(path)
            guard state.doubtful.remove(path) != nil, !state.doubtsAll else { return }
            list?.write(state.doubtful, removed: path)
        }
    }

    /// To be called before a directory gets another name, by which the doubt about it would not be known.
    ///
    /// - Throws: `storageFailed` where it, or one below it, is doubted.
    func checkTrust(below path: RelativePath) throws(Failure) {
        try checkTrust(in: path)
        let doubted = state.withLock { $0.doubtful.first { $0.below(path) != nil } }
        if let doubted { try checkTrust(in: doubted) }
    }

    /// - Throws: `storageFailed` for a directory that is there and is doubted.
    func checkTrust(in path: RelativePath) throws(Failure) {
        guard state.withLock({ $0.doubtsAll || $0.doubtful.contains(path) }) else { return }
        let reason =
            "the server's disk failed when the directory was made. It has to be checked and the directory removed."
        throw Failure(.storageFailed, "Could not store in \(path): \(reason)")
    }
}
