import TransferModel
import TransferProtocol
import TransferSystem

/// Asks what exists at a path that the caller has named.
final class PullOperand: AnswerTaker {
    /// The operand as the caller gave it.
    let download: Download

    private let plan: PullPlan
    private let path: String
    private let entry = Locked<ListedEntry?>(nil)
    /// The file about which the server is asked again, because it had changed when it was to be fetched; nil for an
    /// operand.
    let file: PullFile?

    init(_ download: Download, _ plan: PullPlan) {
        (self.download, self.plan, file) = (download, plan, nil)
        path = TransferClient.clean(download.path)
    }

    /// Asks again about a file.
    init(_ file: PullFile, _ plan: PullPlan) {
        (path, self.plan, self.file) = (file.source, plan, file)
        download = Download(file.source, name: file.target.string)
    }

    var asked: PendingRequest {
        let request = ListRequest(
            id: 0, path: plan.context.remote(path), isAboutItself: true, wantsDetails: true,
            wantsAll: plan.archive != nil)
        return PendingRequest(.list(request), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        if let first = entries.first { entry.withLock { $0 = first } }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        guard outcome.code == .completed, let entry = entry.withLock({ $0 }) else {
            if file == nil, expand(insteadOf: outcome.code) { return plan.listed() }
            return fail(outcome.code == .completed ? .notFound : outcome.code, outcome.message)
        }
        if let file {
            guard entry.form == .file else {
                return plan.report(
                    file.report(.fileChanged, "It is no longer a file on the server."), of: file)
            }
            return plan.again(.file(PullFile(again: file, RemoteEntry(path, entry))))
        }
        found(entry)
    }

    private func found(_ entry: ListedEntry) {
        // An empty path is the server's folder itself, whose contents go straight into the directory.
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        let target = (download.name ?? name).flatMap { try? RelativePath($0) }
        let isTop = path.isEmpty && download.name == nil
        var item: PullPlan.Item?
        switch (entry.form, target) {
        case (.directory, _) where plan.isTarget(path):
            return fail(Failure.target.code, Failure.target.message)
        case (.directory, _) where isTop || target != nil:
            if let target { plan.archive?.add(folder: path, entry, at: target) }
            item = .folder(PullFolder(path, to: target, PullScope(plan.selection), plan))
        case (.file, let target?):
            let found = RemoteEntry(path, entry)
            if plan.takes(named: name ?? "", found) { item = plan.file(path, at: target, found).map { .file($0) } }
        case (.symbolicLink, let target?) where plan.archive != nil:
            if plan.takes(link: name ?? "") { plan.archive?.add(link: path, entry, at: target) }
        default: return fail(.invalidPath, "The name cannot be a file name on this machine.")
        }
        guard plan.archive?.isFull != true else {
            return fail(.incomplete, ListBudget.message(plan.context.configuration.listMemory))
        }
        if let item { plan.add([item]) }
        plan.listed()
    }

    /// Searches for matches of the path, if it may be a pattern.
    private func expand(insteadOf code: ResultCode) -> Bool {
        guard download.isPattern, [.completed, .notFound, .invalidPath, .wrongForm].contains(code),
            let glob = PathGlob(download.path, ignoresCase: plan.selection.ignoresCase)
        else { return false }
        let expansion = PullExpansion(download.path, glob)
        plan.add([.folder(PullFolder(glob.folder, to: nil, PullScope(plan.selection, expansion), plan))])
        return true
    }

    private func fail(_ code: ResultCode, _ message: String) {
        if let file { return plan.report(file.report(code, message), of: file) }
        var report = PullReport(source: path, result: code, size: 0, message: message)
        report.target = remainder.target
        plan.fail(report)
    }

    /// The work that remains if the pull ends early.
    var remainder: PullRemainder {
        if let file { return file.remainder }
        return download.remainder
    }

    func lost() { plan.again(.operand(self)) }
}
