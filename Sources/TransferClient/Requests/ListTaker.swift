import TransferModel
import TransferProtocol
import TransferSystem

/// Takes the list of a folder, and the lists of the folders in it if they are wanted.
final class ListTaker: AnswerTaker {
    /// What the lists of one request have in common.
    final class Shared: Sendable {
        let context: RequestContext
        let queue: RequestQueue
        let events: EventQueue<RemoteEntry>
        let isRecursive: Bool
        let wantsDetails: Bool
        let wantsAll: Bool
        /// Whether a folder that the server cannot read counts as empty instead of failing the list.
        let isLenient: Bool
        /// The trash batch that is listed; nil for a list of stored files.
        let trash: TrashPlace?
        /// Whether the contents of a folder in the list are listed as well.
        let enters: @Sendable (_ folder: String) -> Bool
        /// Receives the number of names that the server leaves out of a folder's list.
        let unlisted: (@Sendable (UnlistedNames) -> Void)?
        private let failure = Locked<TransferFailure?>(nil)
        /// Counts folders that wait to be listed, and the names received from unfinished lists.
        private let budget: Locked<ListBudget>

        init(
            _ context: RequestContext, _ queue: RequestQueue, _ events: EventQueue<RemoteEntry>, isRecursive: Bool,
            wantsDetails: Bool, wantsAll: Bool = false, trash: TrashPlace? = nil, isLenient: Bool = false,
            unlisted: (@Sendable (UnlistedNames) -> Void)? = nil,
            enters: @escaping @Sendable (_ folder: String) -> Bool = { _ in true }
        ) {
            budget = Locked(ListBudget(context.configuration.listMemory))
            self.isLenient = isLenient
            (self.wantsAll, self.trash, self.unlisted, self.enters) = (wantsAll, trash, unlisted, enters)
            (self.context, self.queue, self.events) = (context, queue, events)
            (self.isRecursive, self.wantsDetails) = (isRecursive, wantsDetails)
        }

        /// The first failure of any of the lists.
        var firstFailure: TransferFailure? { failure.withLock { $0 } }

        func fail(_ code: ResultCode, _ message: String) {
            failure.withLock { failure in
                if failure == nil { failure = TransferFailure(reason: .rejected(code), message: message) }
            }
        }

        func ask(_ path: String, isFirst: Bool = false) {
            guard hold(ListTaker.bytes(of: path)) else { return }
            queue.add(PendingRequest(request(path), ListTaker(path, self, isFirst: isFirst)))
        }

        /// - Returns: false if the budget is exceeded; then the whole list has ended.
        func hold(_ bytes: UInt64) -> Bool {
            do throws(TransferFailure) {
                try budget.withLock { (budget) throws(TransferFailure) in try budget.hold(bytes) }
                return true
            } catch {
                failure.withLock { $0 = $0 ?? error }
                events.cancel()
                return false
            }
        }

        func release(_ bytes: UInt64) { budget.withLock { $0.release(bytes) } }

        func request(_ path: String) -> Request {
            let isTop = trash == .top
            return .list(
                ListRequest(
                    path: isTop ? "" : context.remote(path), wantsDetails: wantsDetails, wantsAll: wantsAll,
                    trash: trash))
        }
    }

    private let path: String
    private let shared: Shared
    private let isFirst: Bool
    private let state = Locked(State())

    private struct State {
        /// Entries received on this connection.
        var count: UInt64 = 0
        /// Names that were passed on: after a lost connection the list is sent again, in any order.
        var told: Set<PathDigest> = []
    }

    private init(_ path: String, _ shared: Shared, isFirst: Bool) {
        (self.path, self.shared, self.isFirst) = (path, shared, isFirst)
    }

    /// Roughly the bytes of memory that a folder takes while it waits to be listed.
    private static func bytes(of folder: String) -> UInt64 { ListBudget.entryBytes + UInt64(folder.utf8.count) }

    func take(_ entries: [ListedEntry]) -> Taken {
        let new = state.withLock { state in
            state.count += UInt64(entries.count)
            return entries.filter { $0.form != .other && state.told.insert(PathDigest($0.name)).inserted }
        }
        guard shared.hold(UInt64(new.count) * ListBudget.nameBytes) else { return .unwanted }
        for entry in new {
            guard let below = RemoteEntry.path(of: entry.name, in: path), (try? RelativePath(below)) != nil else {
                shared.fail(.invalidPath, "The server lists an invalid name: \(entry.name.escapedForDisplay)")
                continue
            }
            let found = RemoteEntry(below, entry)
            // Decide before the entry is passed on, because its receiver may want to know the decision.
            let isEntered = shared.isRecursive && found.isDirectory && shared.enters(below)
            shared.events.send(found)
            if isEntered { shared.ask(below) }
        }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        defer {
            let names = state.withLock { $0.told.count }
            shared.release(Self.bytes(of: path) + UInt64(names) * ListBudget.nameBytes)
            shared.queue.answered()
        }
        guard outcome.code == .completed else {
            // A folder that was removed since it was listed counts as empty.
            let isUnknown = shared.isLenient && outcome.code == .storageFailed
            let isAbsent = shared.trash == nil ? outcome.code == .notFound : outcome.code.isAbsenceInTrash
            if isFirst || !isAbsent && !isUnknown { shared.fail(outcome.code, outcome.message) }
            return
        }
        guard state.withLock({ $0.count }) == outcome.count else {
            return shared.fail(
                .incomplete, "The list of \(path.isEmpty ? "the folder" : path.escapedForDisplay) is not complete.")
        }
        if outcome.unlisted > 0 { shared.unlisted?(UnlistedNames(folder: path, count: outcome.unlisted)) }
    }

    func lost() {
        state.withLock { $0.count = 0 }
        shared.queue.again(PendingRequest(shared.request(path), self))
    }
}

extension RemoteEntry {
    /// The path of an entry in a folder.
    ///
    /// - Returns: nil if the name is not valid.
    static func path(of name: String, in folder: String) -> String? {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), (try? RelativePath(name)) != nil else {
            return nil
        }
        return folder.isEmpty ? name : "\(folder)/\(name)"
    }
}
