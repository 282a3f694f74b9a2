import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// Takes the list of a folder that is pulled, and adds what is in it to the plan.
final class PullFolder: AnswerTaker {
    private struct State {
        /// Names that were taken: after a lost connection the list comes again, in any order.
        var seen: Set<PathDigest> = []
        /// Entries that have come on this connection.
        var count: UInt64 = 0
        var isEmpty = true
    }

    private let plan: PullPlan
    /// Below the folder of the server's address.
    let source: String
    /// Where what is in it goes; nothing for the directory itself.
    let target: RelativePath?
    /// Whether it is not as it is here, or nobody knows.
    let isListed: Bool
    private let state = Locked(State())

    init(_ source: String, to target: RelativePath?, _ plan: PullPlan, isListed: Bool = false) {
        (self.source, self.target, self.plan, self.isListed) = (source, target, plan, isListed)
    }

    /// The same when it is known that it has to be listed.
    var listed: PullFolder { PullFolder(source, to: target, plan, isListed: true) }

    /// A folder in it.
    ///
    /// - Returns: nothing for a name that is none.
    func below(_ name: String) -> PullFolder? {
        guard let path = RemoteEntry.path(of: name, in: source), let place = place(of: name) else { return nil }
        return PullFolder(path, to: place, plan)
    }

    private func place(of name: String) -> RelativePath? {
        try? RelativePath((target.map { $0.string + "/" } ?? "") + name)
    }

    var asked: PendingRequest {
        state.withLock { $0.count = 0 }
        return PendingRequest(.list(ListRequest(id: 0, path: plan.context.remote(source), wantsDetails: true)), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        let new = state.withLock { state in
            state.count += UInt64(entries.count)
            let new = entries.filter { state.seen.insert(PathDigest($0.name)).inserted }
            if !new.isEmpty { state.isEmpty = false }
            return new
        }
        plan.add(new.compactMap(item))
        return .wanted
    }

    private func item(_ entry: ListedEntry) -> PullPlan.Item? {
        guard entry.form != .other else { return nil }
        guard let path = RemoteEntry.path(of: entry.name, in: source),
            let place = place(of: entry.name)
        else {
            let name = source.isEmpty ? entry.name : "\(source)/\(entry.name)"
            plan.events.send(
                .finished(
                    PullReport(
                        source: name, result: .invalidPath, size: entry.size,
                        message: "The server names what cannot be a file here.")))
            return nil
        }
        guard entry.form == .file else { return .folder(PullFolder(path, to: place, plan)) }
        return .file(PullFile(source: path, target: place, entry: RemoteEntry(path, entry)))
    }

    func end(_ outcome: Outcome) {
        let (count, isEmpty) = state.withLock { ($0.count, $0.isEmpty) }
        guard outcome.code == .completed else { return fail(outcome.code, outcome.message) }
        guard count == outcome.count else { return fail(.incomplete, "The list of the folder is not complete.") }
        do throws(StoreError) {
            // Others come with what is in them.
            if isEmpty, let target { try plan.destination.makeDirectory(target) }
        } catch {
            return fail(error.code, error.message)
        }
        plan.done()
    }

    private func fail(_ code: ResultCode, _ message: String) {
        plan.report(PullReport(source: source, result: code, size: 0, message: message))
    }

    func lost() { plan.again(.folder(self)) }
}
