import TransferModel
import TransferProtocol
import TransferSystem

/// All that is in a folder on a server and below it, as its lists come in.
final class RemoteListing: Sendable {
    private struct State {
        var entries: [SyncEntry] = []
        var unlisted: [UnlistedNames] = []
        var budget: ListBudget
        /// What went wrong first.
        var failure: TransferFailure?
        /// Why it is given up.
        var excess: TransferFailure?
    }

    let context: RequestContext
    let queue: RequestQueue
    let filter: SyncFilter
    let isSource: Bool
    let wantsDetails: Bool
    private let state: Locked<State>
    private let giveUp: @Sendable () -> Void

    /// - Parameter giveUp: ends all of it, because it is more than can be held.
    init(
        _ context: RequestContext, _ queue: RequestQueue, _ filter: SyncFilter, isSource: Bool, wantsDetails: Bool,
        giveUp: @escaping @Sendable () -> Void
    ) {
        state = Locked(State(budget: ListBudget(context.configuration.listMemory)))
        (self.context, self.queue, self.filter) = (context, queue, filter)
        (self.isSource, self.wantsDetails, self.giveUp) = (isSource, wantsDetails, giveUp)
    }

    /// In no order.
    var entries: [SyncEntry] { state.withLock { $0.entries } }

    /// Folders with names that are in no list.
    var unlisted: [UnlistedNames] { state.withLock { $0.unlisted } }

    var firstFailure: TransferFailure? { state.withLock { $0.failure } }

    /// Why it was given up, if it was.
    var excess: TransferFailure? { state.withLock { $0.excess } }

    /// Lists a folder; the one of the address for nothing.
    func ask(_ folder: RelativePath?) { queue.add(FolderTaker(folder, self).asked) }

    func fail(_ code: ResultCode, _ message: String) {
        state.withLock { state in
            if state.failure == nil { state.failure = TransferFailure(reason: .rejected(code), message: message) }
        }
    }

    func add(_ entries: [SyncEntry], _ unlisted: UnlistedNames?) {
        state.withLock { state in
            state.entries += entries
            if let unlisted { state.unlisted.append(unlisted) }
        }
    }

    /// - Returns: false when it is too much: then all of it ends.
    func hold(_ bytes: UInt64) -> Bool {
        do throws(TransferFailure) {
            try state.withLock { (state) throws(TransferFailure) in try state.budget.hold(bytes) }
            return true
        } catch {
            state.withLock { $0.excess = $0.excess ?? error }
            giveUp()
            return false
        }
    }

    func release(_ bytes: UInt64) { state.withLock { $0.budget.release(bytes) } }
}

/// Takes the list of one folder, with all that the server keeps of what is in it.
private final class FolderTaker: AnswerTaker {
    private struct State {
        /// What has come on this connection: after a lost one the list comes again.
        var entries: [SyncEntry] = []
        var count: UInt64 = 0
        /// Bytes that these take.
        var held: UInt64 = 0
        /// Folders that are asked for, on this connection or another one.
        var entered: Set<RelativePath> = []
    }

    private let folder: RelativePath?
    private let listing: RemoteListing
    /// What holds in the folder.
    private let filter: WalkFilter
    private let state = Locked(State())

    init(_ folder: RelativePath?, _ listing: RemoteListing) {
        (self.folder, self.listing) = (folder, listing)
        filter = listing.filter.filter(of: folder)
    }

    var asked: PendingRequest {
        let path = listing.context.remote(folder?.string ?? "")
        return PendingRequest(.list(ListRequest(path: path, wantsDetails: listing.wantsDetails, wantsAll: true)), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        let (folders, bytes) = state.withLock { state in
            state.count += UInt64(entries.count)
            var (folders, bytes): ([RelativePath], UInt64) = ([], 0)
            for listed in entries where listed.form != .other {
                guard let entry = entry(listed), isTaken(entry) else { continue }
                state.entries.append(entry)
                bytes += ListBudget.bytes(path: entry.path.string.utf8.count, listed.extras)
                if entry.isFolder, state.entered.insert(entry.path).inserted { folders.append(entry.path) }
            }
            state.held += bytes
            return (folders, bytes)
        }
        guard listing.hold(bytes) else { return .unwanted }
        for folder in folders { listing.ask(folder) }
        return .wanted
    }

    /// - Returns: nothing for what can have no path, which no server lists that is one.
    private func entry(_ listed: ListedEntry) -> SyncEntry? {
        if !listed.name.utf8.contains(UInt8(ascii: "/")), let path = RelativePath.child(listed.name, of: folder) {
            return SyncEntry(path, listed)
        }
        listing.fail(.invalidPath, "The server lists what is no name: \(listed.name.escapedForDisplay)")
        return nil
    }

    private func isTaken(_ entry: SyncEntry) -> Bool {
        guard !entry.isFolder else { return listing.filter.enters(entry.path) }
        // On this machine it would be one of this program's own, which no scan takes for a file.
        guard !SourceWitness.isName(entry.path.name) else {
            listing.filter.leaveOut(entry.path)
            return false
        }
        return listing.filter.takes(entry, by: filter, isSource: listing.isSource)
    }

    func end(_ outcome: Outcome) {
        defer { listing.queue.answered() }
        guard outcome.code == .completed else {
            // A folder that is gone by now has nothing in it.
            if folder == nil || outcome.code != .notFound { listing.fail(outcome.code, outcome.message) }
            return
        }
        let (entries, count) = state.withLock { state in
            defer { state.entries = [] }
            return (state.entries, state.count)
        }
        guard count == outcome.count else {
            return listing.fail(.incomplete, "The list of \(folder?.description ?? "the folder") is not complete.")
        }
        let unlisted = UnlistedNames(folder: folder?.string ?? "", count: outcome.unlisted)
        listing.add(entries, unlisted.count > 0 ? unlisted : nil)
    }

    func lost() {
        let held = state.withLock { state in
            defer { (state.entries, state.count, state.held) = ([], 0, 0) }
            return state.held
        }
        listing.release(held)
        listing.queue.again(asked)
    }
}
