import TransferModel
import TransferProtocol
import TransferSystem

/// Collects the lists of a folder on a server and of all folders in it.
final class RemoteListing: Sendable {
    private struct State {
        var entries: [SyncEntry] = []
        var unlisted: [UnlistedNames] = []
        var budget: ListBudget
        /// The first failure of any list.
        var failure: TransferFailure?
        /// Why the listing was given up; nil if it was not.
        var excess: TransferFailure?
    }

    let context: RequestContext
    let queue: RequestQueue
    let filter: SyncFilter
    let isSource: Bool
    let wantsDetails: Bool
    private let state: Locked<State>
    private let giveUp: @Sendable () -> Void

    /// - Parameter giveUp: ends the listing because it exceeds the budget.
    init(
        _ context: RequestContext, _ queue: RequestQueue, _ filter: SyncFilter, isSource: Bool, wantsDetails: Bool,
        giveUp: @escaping @Sendable () -> Void
    ) {
        state = Locked(State(budget: ListBudget(context.configuration.listMemory)))
        (self.context, self.queue, self.filter) = (context, queue, filter)
        (self.isSource, self.wantsDetails, self.giveUp) = (isSource, wantsDetails, giveUp)
    }

    /// All entries received, in no order.
    var entries: [SyncEntry] { state.withLock { $0.entries } }

    /// Folders that contain names that no list can contain.
    var unlisted: [UnlistedNames] { state.withLock { $0.unlisted } }

    var firstFailure: TransferFailure? { state.withLock { $0.failure } }

    /// Why the listing was given up; nil if it was not.
    var excess: TransferFailure? { state.withLock { $0.excess } }

    /// Requests the list of a folder; nil means the folder of the server's address.
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

    /// - Returns: false if the budget is exceeded; then the listing ends.
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

/// Takes the list of one folder, with all attributes that the server keeps of the entries.
private final class FolderTaker: AnswerTaker {
    private struct State {
        /// Entries received on this connection. After a lost connection, the server sends the list again.
        var entries: [SyncEntry] = []
        var count: UInt64 = 0
        /// Bytes that `entries` take of the budget.
        var held: UInt64 = 0
        /// Folders whose lists were requested, on this connection or another one.
        var entered: Set<RelativePath> = []
    }

    private let folder: RelativePath?
    private let listing: RemoteListing
    /// The rules that apply in the folder.
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

    /// - Returns: nil if the name is not valid, which no correct server lists.
    private func entry(_ listed: ListedEntry) -> SyncEntry? {
        if !listed.name.utf8.contains(UInt8(ascii: "/")), let path = RelativePath.child(listed.name, of: folder) {
            return SyncEntry(path, listed)
        }
        listing.fail(.invalidPath, "The server lists an invalid name: \(listed.name.escapedForDisplay)")
        return nil
    }

    private func isTaken(_ entry: SyncEntry) -> Bool {
        guard !entry.isFolder else { return listing.filter.enters(entry.path) }
        // On this machine, the name would be that of a witness, which scans leave out.
        guard !SourceWitness.isName(entry.path.name) else {
            listing.filter.leaveOut(entry.path)
            return false
        }
        return listing.filter.takes(entry, by: filter, isSource: listing.isSource)
    }

    func end(_ outcome: Outcome) {
        defer { listing.queue.answered() }
        guard outcome.code == .completed else {
            // A folder that was removed since it was listed counts as empty.
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
