import TransferModel
import TransferProtocol
import TransferSystem

/// Looks at a tree on a server, at the folder of the client's address.
struct RemoteScan {
    private let client: TransferClient
    private let isSource: Bool
    private let filter: SyncFilter

    /// - Parameter isSource: whether sizes and times decide what is looked at.
    init(_ client: TransferClient, isSource: Bool, _ filter: SyncFilter) {
        (self.client, self.isSource, self.filter) = (client, isSource, filter)
    }

    /// - Returns: a tree without a top where there is no such folder; and whether the server can give files owners.
    /// - Throws: when not all of it could be listed, when it is more than can be held, or when it is no folder.
    func run() async throws(PushFailure) -> (tree: SyncTree, keepsOwners: Bool) {
        let (entry, features) = try await client.statTop()
        let keepsOwners = features.contains(.owners)
        guard let top = try top(entry) else { return (SyncTree(top: nil), keepsOwners) }
        var (entries, budget): ([SyncEntry], ListBudget) = ([], client.listBudget)
        let unlisted = Locked<[UnlistedNames]>([])
        let whole = client.listWhole(unlisted: { names in unlisted.withLock { $0.append(names) } }) { [filter] in
            filter.enters($0)
        }
        for try await listed in whole {
            try budget.hold(listed)
            guard let entry = SyncEntry(listed) else { continue }
            let isTaken =
                entry.isFolder ? !filter.hasLeftOut(entry.path) : filter.takes(entry, isSource: isSource)
            if isTaken { entries.append(entry) }
        }
        return (tree(top, entries, unlisted.withLock { $0 }), keepsOwners)
    }

    /// What cannot be fetched keeps a source from being whole; in a target it only cannot be removed.
    private func tree(_ top: SyncTree.Top, _ entries: [SyncEntry], _ unlisted: [UnlistedNames]) -> SyncTree {
        guard isSource else { return SyncTree(top: top, entries, leftOut: filter.leftOut, unlisted: unlisted) }
        let faults = unlisted.map { SyncTree.Fault(path: $0.folder, message: $0.message) }
        return SyncTree(top: top, entries, leftOut: filter.leftOut, faults: faults)
    }

    private func top(_ entry: RemoteEntry?) throws(PushFailure) -> SyncTree.Top? {
        guard let entry else { return nil }
        guard entry.isDirectory else {
            throw PushFailure(
                reason: .rejected(.wrongForm), message: "\(client.server) is a file there, and no folder to keep equal."
            )
        }
        return SyncTree.Top(
            modified: Timestamp(seconds: entry.modified.seconds, nanoseconds: entry.modified.nanoseconds),
            permissions: entry.permissions, extra: entry.extras?.attributes ?? ExtraAttributes())
    }
}

extension TransferClient {
    /// Lists all that is in some folders, with all that is kept of it.
    ///
    /// - Parameters:
    ///   - folders: below the folder of the address, which is one of them if that is empty. Others may be gone.
    ///   - unlisted: is told of names that no list can have.
    func listWhole(
        of folders: [String] = [""], unlisted: @escaping @Sendable (UnlistedNames) -> Void = { _ in },
        entering enters: @escaping @Sendable (RelativePath) -> Bool
    ) -> RequestEvents<RemoteEntry> {
        let events = EventQueue<RemoteEntry>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let shared = ListTaker.Shared(
            requestContext, queue, events, isRecursive: true, wantsDetails: true, wantsAll: true,
            unlisted: unlisted
        ) { path in
            (try? RelativePath(path)).map(enters) ?? false
        }
        for folder in folders { shared.ask(folder, isFirst: folder.isEmpty) }
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }

    /// What the server can do, whether or not it lets this client look.
    ///
    /// - Throws: `unsupported` when it does not have `needs`.
    func features(needs: Features) async throws(PushFailure) -> Features {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: needs) { events.isFull }
        queue.add(StatTaker("", remote: requestContext.remote(""), queue, events).asked)
        run(queue, events, resume: { queue.resume() })
        for try await _ in RequestEvents(events) {}
        return queue.welcome?.features ?? []
    }

    /// What the folder of the address is, and what its server can do.
    ///
    /// - Returns: no entry where there is none.
    fileprivate func statTop() async throws(PushFailure) -> (entry: RemoteEntry?, features: Features) {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        queue.add(StatTaker("", remote: requestContext.remote(""), queue, events, wantsAll: true).asked)
        run(queue, events, resume: { queue.resume() })
        var entry: RemoteEntry?
        for try await report in RequestEvents(events) {
            guard report.entry != nil || report.result == .notFound else {
                throw PushFailure(reason: .rejected(report.result), message: report.message)
            }
            entry = report.entry
        }
        return (entry, queue.welcome?.features ?? [])
    }
}
