import TransferModel
import TransferSystem

/// Counts what is done, and tells of it. Called on the pool and on loops.
final class SyncTally: Sendable {
    private struct State {
        var summary: SyncSummary
        var unmade: Set<RelativePath> = []
    }

    private let state: Locked<State>
    let tell: @Sendable (SyncEvent) -> Void

    init(_ summary: SyncSummary, _ tell: @escaping @Sendable (SyncEvent) -> Void) {
        state = Locked(State(summary: summary))
        self.tell = tell
    }

    var summary: SyncSummary { state.withLock { $0.summary } }

    /// Folders that could not be made: what stands in their place gets nothing of theirs.
    var unmade: Set<RelativePath> { state.withLock { $0.unmade } }

    /// Why nothing may be removed any more, if anything went wrong.
    var failureStop: String? { summary.failed > 0 ? "something before went wrong" : nil }

    func stopDeletion(_ reason: String) { state.withLock { $0.summary.deletionStop = reason } }

    func add(_ change: SyncChange) {
        state.withLock { $0.summary.count(change) }
        tell(.finished(change))
    }
}

extension SyncTally {
    func add(_ action: SyncChange.Action, _ fault: SyncTree.Fault) {
        let result: ResultCode = action == .skipped ? .sourceSkipped : .sourceUnreadable
        add(SyncChange(action: action, path: fault.path, result: result, message: fault.message))
    }

    func add(_ entry: SyncEntry, _ result: ResultCode, _ message: String) {
        let action: SyncChange.Action = entry.isFolder ? .folder : entry.isLink ? .link : .new
        add(entry, action, result, message)
    }

    func add(made folder: SyncEntry, _ result: ResultCode, _ message: String) {
        if result != .completed { state.withLock { _ = $0.unmade.insert(folder.path) } }
        add(folder, .folder, result, message)
    }

    func add(_ entry: SyncEntry, _ action: SyncChange.Action, _ result: ResultCode, _ message: String) {
        add(
            SyncChange(
                action: action, path: entry.path.string, size: entry.size, result: result.ofChange, message: message))
    }

    func add(_ file: SyncPlan.File, _ result: ResultCode, _ message: String) {
        add(file.entry, file.isNew ? .new : .changed, result, message)
    }

    func add(_ move: SyncPlan.Move, _ result: ResultCode, _ message: String) {
        add(
            SyncChange(
                action: .moved, path: move.entry.path.string, origin: move.from.string, size: move.entry.size,
                result: result.ofChange, message: message))
    }

    func add(_ link: SyncPlan.HardLink, _ result: ResultCode, _ message: String) {
        add(
            SyncChange(
                action: .hardLink, path: link.entry.path.string, origin: link.first.string, size: link.entry.size,
                result: result.ofChange, message: message))
    }

    func add(_ removal: SyncPlan.Removal, _ action: SyncChange.Action, _ result: ResultCode, _ message: String) {
        add(
            SyncChange(
                action: action, path: removal.entry.path.string, size: removal.entry.size,
                count: removal.entries.count, result: result.ofChange, message: message))
    }

    func add(top report: ChangeReport) {
        add(SyncChange(action: .attributes, path: "", result: report.result.ofChange, message: report.message))
    }

    /// Tells what would be done.
    func foresee(_ plan: SyncPlan, deletionStop stop: String?) {
        for removal in plan.obstacles where stop == nil || !removal.entry.isFolder {
            add(removal, .cleared, .completed, "")
        }
        for folder in plan.folders { add(folder, .folder, .completed, "") }
        for move in plan.moves { add(move, .completed, "") }
        for file in plan.files { add(file, .completed, "") }
        for link in plan.links { add(link, .link, .completed, "") }
        for link in plan.hardLinks { add(link, .completed, "") }
        for entry in plan.attributes { add(entry, .attributes, .completed, "") }
        if let reason = stop ?? (plan.removals.isEmpty ? nil : failureStop) {
            stopDeletion(reason)
        } else {
            for removal in plan.removals { add(removal, .removed, .completed, "") }
        }
        for (folder, isTold) in plan.folderAttributes where isTold { add(folder, .attributes, .completed, "") }
        if plan.top.isTold { add(top: .done("")) }
    }
}

extension SyncSummary {
    fileprivate mutating func count(_ change: SyncChange) {
        guard change.isDone else {
            if change.action != .skipped { failed += 1 }
            return
        }
        switch change.action {
        case .new, .changed:
            sent += 1
            sentBytes = sentBytes.addingClamped(change.size)
        case .moved: moved += 1
        case .folder, .link, .hardLink: made += 1
        case .attributes: attributes += 1
        case .removed, .cleared: deleted += change.count
        case .unreadable, .skipped: break
        }
    }
}

extension ResultCode {
    /// An upload that is stored is a change that is done.
    fileprivate var ofChange: ResultCode {
        switch self {
        case .committed, .alreadyStored: .completed
        default: self
        }
    }
}
