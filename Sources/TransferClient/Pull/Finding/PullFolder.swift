import TransferModel
import TransferProtocol
import TransferPorts
import TransferStore
import TransferSystem

/// Takes the list of a folder that is pulled, and adds the entries to the plan.
final class PullFolder: AnswerTaker {
    private struct State {
        /// Names that were taken: after a lost connection the list starts again, in any order.
        var seen: Set<PathDigest> = []
        /// The number of entries that have arrived on this connection.
        var count: UInt64 = 0
        var isEmpty = true
        /// Whether the list exceeds the memory for it.
        var isOverdrawn = false
    }

    private let plan: PullPlan
    /// The path below the folder of the server's address.
    let source: String
    /// The local folder for the entries; nil for the directory that is pulled to.
    let target: RelativePath?
    /// Which of the entries are wanted.
    let scope: PullScope
    /// Whether the folder must be listed because it differs, or can differ, from the local folder.
    let isListed: Bool
    private let state = Locked(State())

    init(
        _ source: String, to target: RelativePath?, _ scope: PullScope, _ plan: PullPlan, isListed: Bool = false
    ) {
        (self.source, self.target, self.scope) = (source, target, scope)
        (self.plan, self.isListed) = (plan, isListed)
    }

    /// The same folder, to be listed instead of compared.
    var listed: PullFolder { PullFolder(source, to: target, scope, plan, isListed: true) }

    /// The work that remains if the pull ends early.
    var remainder: PullRemainder {
        guard let expansion = scope.expansion else { return PullRemainder(source, to: target?.string) }
        return PullRemainder(expansion.text, to: nil, isPattern: true)
    }

    /// A subfolder.
    ///
    /// - Returns: nil for an invalid name, and for a folder that is not wanted.
    func below(_ name: String) -> PullFolder? {
        guard let path = RemoteEntry.path(of: name, in: source), let place = place(of: name),
            let inner = scope.entering(name)
        else { return nil }
        return PullFolder(path, to: place, inner, plan)
    }

    private func place(of name: String) -> RelativePath? {
        try? RelativePath((target.map { $0.string + "/" } ?? "") + name)
    }

    var asked: PendingRequest {
        state.withLock { $0.count = 0 }
        let request = ListRequest(
            id: 0, path: plan.context.remote(source), wantsDetails: true, wantsAll: plan.archive != nil)
        return PendingRequest(.list(request), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        let (new, isOverdrawn) = state.withLock { state in
            state.count += UInt64(entries.count)
            let new = entries.filter { state.seen.insert(PathDigest($0.name)).inserted }
            if !new.isEmpty { state.isEmpty = false }
            if !plan.hasRoom(seen: state.seen.count, new: new.count) { state.isOverdrawn = true }
            return (new, state.isOverdrawn)
        }
        guard !isOverdrawn else { return .unwanted }
        plan.add(new.compactMap(item))
        guard plan.archive?.isFull != true else {
            state.withLock { $0.isOverdrawn = true }
            return .unwanted
        }
        return .wanted
    }

    private func item(_ entry: ListedEntry) -> PullPlan.Item? {
        switch entry.form {
        case .other: return nil
        case .symbolicLink:
            guard let archive = plan.archive, scope.takes(entry.name), let (path, place) = paths(of: entry) else {
                return nil
            }
            archive.add(link: path, entry, at: place)
            return nil
        case .directory:
            guard let inner = scope.entering(entry.name) else { return nil }
            guard let (path, place) = paths(of: entry) else {
                inner.expansion?.leave()
                return nil
            }
            guard !plan.isTarget(path) else {
                inner.expansion?.leave()
                plan.refuse(PullReport(source: path, result: .skipped, size: 0, message: Failure.target.message))
                return nil
            }
            if scope.isKept { plan.archive?.add(folder: path, entry, at: place) }
            return .folder(PullFolder(path, to: scope.isKept ? place : nil, inner, plan))
        case .file:
            guard scope.takes(entry.name), let (path, place) = paths(of: entry) else { return nil }
            let found = RemoteEntry(path, entry)
            return plan.selection.accepts(found) ? plan.file(path, at: place, found).map { .file($0) } : nil
        }
    }

    /// The entry's paths on the server and here; nil if its name makes no valid path, which is reported.
    private func paths(of entry: ListedEntry) -> (there: String, here: RelativePath)? {
        if let path = RemoteEntry.path(of: entry.name, in: source), let place = place(of: entry.name) {
            return (path, place)
        }
        let name = source.isEmpty ? entry.name : "\(source)/\(entry.name)"
        plan.refuse(
            PullReport(
                source: name, result: .invalidPath, size: entry.size,
                message: "The server's name for it cannot be a file name on this machine."))
        return nil
    }

    func end(_ outcome: Outcome) {
        let (count, isEmpty, isOverdrawn) = state.withLock { ($0.count, $0.isEmpty, $0.isOverdrawn) }
        guard !isOverdrawn else {
            return fail(.incomplete, ListBudget.message(plan.context.configuration.listMemory))
        }
        guard outcome.code == .completed else { return fail(outcome.code, outcome.message) }
        guard count == outcome.count else { return fail(.incomplete, "The list of the folder is not complete.") }
        if outcome.unlisted > 0 { plan.refuse(report(of: UnlistedNames(folder: source, count: outcome.unlisted))) }
        do throws(Failure) {
            // A folder of which only some entries are wanted is created together with the first of them.
            if scope.isAll, let target { try want(target, isEmpty: isEmpty) }
        } catch {
            return fail(error.code, error.message)
        }
        guard let expansion = scope.expansion, expansion.end() else { return plan.listed() }
        var report = PullReport(
            source: expansion.text, result: .notFound, size: 0, message: "Nothing on the server matches it.")
        report.isPattern = true
        plan.fail(report)
    }

    /// Keeps the folder even if it is empty. An archive creates missing folders after all files.
    private func want(_ target: RelativePath, isEmpty: Bool) throws(Failure) {
        if let archive = plan.archive { return archive.wants(folder: target) }
        if isEmpty { try plan.place.makeDirectory(target) }
    }

    /// The report on names that no request can have, so that their entries cannot be fetched.
    private func report(of names: UnlistedNames) -> PullReport {
        var report = PullReport(source: source, result: .invalidPath, size: 0, message: names.message)
        report.target = target?.string
        if let expansion = scope.expansion {
            (report.source, report.isPattern) = (expansion.text, true)
            report.message = "In '\(source)': \(names.message)"
        }
        return report
    }

    private func fail(_ code: ResultCode, _ message: String) {
        scope.expansion?.leave()
        var report = PullReport(
            source: scope.expansion?.text ?? source, result: code, size: 0, message: message)
        (report.target, report.isPattern) = (target?.string, scope.expansion != nil)
        plan.fail(report)
    }

    func lost() { plan.again(.folder(self)) }
}
