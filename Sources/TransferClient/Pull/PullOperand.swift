import TransferModel
import TransferProtocol
import TransferSystem

/// Finds out what a path stands for that was asked for.
final class PullOperand: AnswerTaker {
    private let plan: PullPlan
    private let path: String
    private let entry = Locked<ListedEntry?>(nil)
    /// A file that was another one when it was to be fetched.
    private let file: PullFile?

    init(_ path: String, _ plan: PullPlan) {
        (self.path, self.plan, file) = (path, plan, nil)
    }

    /// Looks at a file again.
    init(_ file: PullFile, _ plan: PullPlan) {
        (path, self.plan, self.file) = (file.source, plan, file)
    }

    var asked: PendingRequest {
        let request = ListRequest(id: 0, path: plan.context.remote(path), isAboutItself: true, wantsDetails: true)
        return PendingRequest(.list(request), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        if let first = entries.first { entry.withLock { $0 = first } }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        guard outcome.code == .completed, let entry = entry.withLock({ $0 }) else {
            return fail(outcome.code == .completed ? .notFound : outcome.code, outcome.message)
        }
        if let file {
            guard entry.form == .file else {
                return plan.report(file.report(.fileChanged, "The file has become something else."))
            }
            plan.add([.file(PullFile(again: file, RemoteEntry(path, entry)))])
            return plan.done()
        }
        // What has no path is the top, whose content goes straight into the directory.
        let name = path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) }
        let target = name.flatMap { try? RelativePath($0) }
        switch (entry.form, target) {
        case (.directory, _) where path.isEmpty || target != nil:
            plan.add([.folder(PullFolder(path, to: target, plan))])
        case (.file, let target?):
            plan.add([.file(PullFile(source: path, target: target, entry: RemoteEntry(path, entry)))])
        default: return fail(.invalidPath, "The name cannot be that of a file here.")
        }
        plan.done()
    }

    private func fail(_ code: ResultCode, _ message: String) {
        plan.report(PullReport(source: path, result: code, size: 0, message: message))
    }

    func lost() { plan.again(.operand(self)) }
}
