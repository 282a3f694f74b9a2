import TransferModel
import TransferProtocol

/// What was removed on the server and is kept for a while. Paths are those that things had, below the folder of the server's
/// address.
extension TransferClient {
    /// What is in the trash, the newest first.
    ///
    /// - Throws: `TransferFailure`, as for a server that is too old to have one.
    public func trash() async throws(TransferFailure) -> [TrashedBatch] {
        let folder = Self.clean(requestContext.server.folder)
        do throws(RelativePath.Fault) {
            if !folder.isEmpty { _ = try RelativePath(folder) }
        } catch {
            throw TransferFailure(reason: .rejected(.invalidPath), message: error.message)
        }
        var (found, budget): ([TrashedBatch], ListBudget) = ([], listBudget)
        for try await entry in listTrash("", .top, isRecursive: false) {
            try budget.hold(entry)
            if let batch = TrashBatch(entry.path) { found.append(TrashedBatch(batch)) }
        }
        return found.sorted { $0.name > $1.name }
    }

    /// Lists what was removed together, with all that is in folders: nothing where it has no such folder.
    public func list(_ batch: TrashedBatch, _ folder: String = "") -> RequestEvents<RemoteEntry> {
        listTrash(Self.clean(folder), .batch(batch.batch), isRecursive: true)
    }

    /// Whether something was removed together with others under a path. Nothing is there where a part of the path is a symbolic link
    /// in that part of the trash, or the path is none.
    public func has(_ path: String, in batch: TrashedBatch) async throws(TransferFailure) -> Bool {
        let events = EventQueue<StatReport>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let path = Self.clean(path)
        queue.add(
            StatTaker(
                path, remote: requestContext.remote(path), queue, events, trash: .batch(batch.batch), wantsAll: true
            ).asked)
        run(queue, events, resume: { queue.resume() })
        for try await report in RequestEvents(events) {
            guard report.entry == nil, !report.result.isAbsenceInTrash else {
                return report.entry != nil
            }
            throw TransferFailure(reason: .rejected(report.result), message: report.message)
        }
        return false
    }

    /// Brings things back to the paths that they had. One that is taken by now is no success: `pathConflict`.
    ///
    /// - Parameter replaces: whether files and links that have the paths by now give way, to the trash where the server has one.
    /// - Returns: one report for each path, in their order.
    public func restore(
        _ paths: [String], from batch: TrashedBatch, replacing replaces: Bool = false
    ) -> RequestEvents<ChangeReport> {
        change(paths) { path, _ in
            .move(MoveRequest(path: path, to: path, replaces: replaces, trash: .batch(batch.batch)))
        }
    }

    /// Removes for good what is in some parts of the trash, as far as it is from the folder of the server's address.
    ///
    /// - Returns: one report for each, in their order, with its name as the path; `notFound` where it has nothing from there.
    public func empty(_ batches: [TrashedBatch]) -> RequestEvents<RemovalReport> {
        remove(
            batches.map { batch in
                let folder = requestContext.remote("")
                return (batch.name, RemoveRequest(path: folder, isRecursive: true, trash: .batch(batch.batch)))
            }, needs: [.files, .trees])
    }

    private func listTrash(_ folder: String, _ place: TrashPlace, isRecursive: Bool) -> RequestEvents<RemoteEntry> {
        let events = EventQueue<RemoteEntry>()
        let queue = RequestQueue(needs: [.files, .trees]) { events.isFull }
        let shared = ListTaker.Shared(
            requestContext, queue, events, isRecursive: isRecursive, wantsDetails: false, wantsAll: isRecursive,
            trash: place)
        // Most parts have nothing of most folders.
        shared.ask(folder, isFirst: place == .top)
        run(queue, events, resume: { queue.resume() }, failure: { shared.firstFailure })
        return RequestEvents(events)
    }
}

extension ResultCode {
    /// Whether a part of the trash has nothing under a path: also where something else is in the way, as a link that was removed.
    var isAbsenceInTrash: Bool { [.notFound, .invalidPath, .wrongForm].contains(self) }
}
