import TransferIO
import TransferModel
import TransferProtocol
import TransferSystem

/// Scans the tree in the address's folder on a server, over one connection.
struct RemoteScan {
    private let client: TransferClient
    private let isSource: Bool
    private let wantsDigests: Bool
    private let filter: SyncFilter

    /// - Parameters:
    ///   - isSource: whether the tree is the source, for which the limits of sizes and times apply.
    ///   - wantsDigests: whether the server is to look up the acknowledged digest of each file.
    init(_ client: TransferClient, isSource: Bool, wantsDigests: Bool, _ filter: SyncFilter) {
        (self.client, self.isSource, self.wantsDigests, self.filter) = (client, isSource, wantsDigests, filter)
    }

    /// - Returns: a tree, without a top if the folder does not exist; whether the server can set owners; and whether it
    ///   compares the version that an upload may replace.
    /// - Throws: if the list is incomplete or exceeds the budget, or if the path is not a folder.
    func run() async throws(TransferFailure) -> BothScans<SyncTree>.Server {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: [.files, .trees])
        let listing = RemoteListing(
            client.requestContext, queue, filter, isSource: isSource, wantsDetails: wantsDigests,
            giveUp: { events.cancel() })
        // The list need not wait for the answer about the folder itself.
        queue.add(StatTaker("", remote: client.requestContext.remote(""), queue, events, wantsAll: true).asked)
        listing.ask(nil)
        client.run(queue, events, resume: { queue.resume() }, failure: { listing.excess })
        var top: SyncTree.Top?
        for try await report in RequestEvents(events) { top = try self.top(report) }
        let features = queue.welcome?.features ?? []
        let (keepsOwners, comparesUploads) = (features.contains(.owners), features.contains(.versions))
        guard let top else { return (SyncTree(top: nil), keepsOwners, comparesUploads) }
        let found = await client.pool.run { self.tree(top, listing) }
        // The folder was there, so a failed list does not mean that it is empty.
        if let failure = listing.firstFailure { throw failure }
        return (found, keepsOwners, comparesUploads)
    }

    /// Names that cannot be fetched make a source incomplete. In a target, they merely cannot be removed.
    private func tree(_ top: SyncTree.Top, _ listing: RemoteListing) -> SyncTree {
        guard isSource else {
            return SyncTree(top: top, listing.entries, leftOut: filter.leftOut, unlisted: listing.unlisted)
        }
        let faults = listing.unlisted.map { SyncTree.Fault(path: $0.folder, message: $0.message) }
        return SyncTree(top: top, listing.entries, leftOut: filter.leftOut, faults: faults)
    }

    private func top(_ report: StatReport) throws(TransferFailure) -> SyncTree.Top? {
        guard let entry = report.entry else {
            guard report.result == .notFound else {
                throw TransferFailure(reason: .rejected(report.result), message: report.message)
            }
            return nil
        }
        guard entry.isDirectory else {
            throw TransferFailure(
                reason: .rejected(.wrongForm),
                message: "\(client.server) is a file on the server; a sync needs a folder."
            )
        }
        return SyncTree.Top(
            modified: Timestamp(seconds: entry.modified.seconds, nanoseconds: entry.modified.nanoseconds),
            permissions: entry.permissions, extra: entry.extras?.attributes ?? ExtraAttributes(),
            isPartial: entry.isPartial)
    }
}

extension TransferClient {
    /// Lists all that is in some folders, with all attributes. The content of a folder that the server cannot read
    /// stays unknown.
    ///
    /// - Parameter folders: paths below the address's folder; the empty path is that folder itself. Other folders need
    ///   not exist.
    func listWhole(
        of folders: [String], entering enters: @escaping @Sendable (RelativePath) -> Bool
    ) -> RequestEvents<RemoteEntry> {
        let events = EventQueue<RemoteEntry>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let shared = ListTaker.Shared(
            requestContext, queue, events, isRecursive: true, wantsDetails: true, wantsAll: true,
            isLenient: true, enters: { path in (try? RelativePath(path)).map(enters) ?? false })
        for folder in folders { shared.ask(folder, isFirst: folder.isEmpty) }
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }

    /// The server's features, whether or not this client may list anything.
    ///
    /// - Throws: `unsupported` if the server does not have `needs`.
    func features(needs: Features) async throws(TransferFailure) -> Features {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: needs) { events.isFull }
        queue.add(StatTaker("", remote: requestContext.remote(""), queue, events).asked)
        run(queue, events, resume: { queue.resume() })
        for try await _ in RequestEvents(events) {}
        return queue.welcome?.features ?? []
    }
}
