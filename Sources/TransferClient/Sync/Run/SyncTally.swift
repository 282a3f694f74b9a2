import TransferModel
import TransferSystem

/// Counts and reports changes. Called on the pool and on loops.
final class SyncTally: Sendable {
    private struct State {
        var summary: SyncSummary
        var unmade: Set<RelativePath> = []
        var outcome = SyncOutcome()
    }

    private let state: Locked<State>
    let tell: @Sendable (SyncEvent) -> Void

    init(_ summary: SyncSummary, _ tell: @escaping @Sendable (SyncEvent) -> Void) {
        state = Locked(State(summary: summary))
        self.tell = tell
    }

    var summary: SyncSummary { state.withLock { $0.summary } }

    /// Folders that could not be made. Another entry at their path must not get their attributes.
    var unmade: Set<RelativePath> { state.withLock { $0.unmade } }

    /// The outcome of the plan so far.
    var outcome: SyncOutcome { state.withLock { $0.outcome } }

    /// Why nothing may be removed any more; nil if nothing has failed.
    var failureStop: String? { summary.failed > 0 ? "an earlier change failed" : nil }

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

    /// Notes that the target has the file in the source's version.
    private func finish(_ entry: SyncEntry) {
        state.withLock { $0.outcome.done[entry.path] = SyncRecord.Version(entry) }
    }

    func add(_ entry: SyncEntry, _ action: SyncChange.Action, _ result: ResultCode, _ message: String) {
        if action == .attributes, result.isSuccess, entry.isFile { finish(entry) }
        add(
            SyncChange(
                action: action, path: entry.path.string, size: entry.size, result: result.ofChange, message: message))
    }

    func add(_ file: SyncPlan.File, _ result: ResultCode, _ message: String) {
        if result.isSuccess, file.copy == nil {
            state.withLock { $0.outcome.done[file.entry.path] = file.sent ?? SyncRecord.Version(file.entry) }
        }
        if let batch = file.trash { state.withLock { $0.summary.trash[batch, default: 0] += 1 } }
        add(
            SyncChange(
                action: file.isNew ? .new : .changed, path: file.target.string, size: file.entry.size,
                result: result.ofChange, message: message))
    }

    /// - Parameter isStored: whether the target has the source's version beside its own.
    func add(_ conflict: SyncPlan.Conflict, isStored: Bool) {
        let copy = isStored ? conflict.copy : nil
        if copy != nil {
            state.withLock { $0.outcome.settled[conflict.entry.path] = SyncRecord.Version(conflict.there) }
        }
        add(
            SyncChange(
                action: .conflict, path: conflict.entry.path.string, copy: copy?.string, size: conflict.entry.size,
                result: .pathConflict, message: conflict.message + conflict.end(copy)))
    }

    func add(kept entry: SyncEntry) {
        add(SyncChange(action: .kept, path: entry.path.string, size: entry.size))
    }

    func add(_ move: SyncPlan.Move, _ result: ResultCode, _ message: String) {
        if result.isSuccess { finish(move.entry) }
        add(
            SyncChange(
                action: .moved, path: move.entry.path.string, origin: move.from.string, size: move.entry.size,
                result: result.ofChange, message: message))
    }

    func add(_ link: SyncPlan.HardLink, _ result: ResultCode, _ message: String) {
        if result.isSuccess { finish(link.entry) }
        add(
            SyncChange(
                action: .hardLink, path: link.entry.path.string, origin: link.first.string, size: link.entry.size,
                result: result.ofChange, message: message))
    }

    func add(_ removal: SyncPlan.Removal, _ action: SyncChange.Action, _ result: ResultCode, _ message: String) {
        if result.isSuccess { state.withLock { _ = $0.outcome.removed.insert(removal.entry.path) } }
        add(
            SyncChange(
                action: action, path: removal.entry.path.string, size: removal.entry.size,
                count: removal.entries.count, result: result.ofChange, message: message))
    }

    func add(top report: ChangeReport) {
        add(SyncChange(action: .attributes, path: "", result: report.result.ofChange, message: report.message))
    }

    /// Reports what a sync would do.
    func foresee(_ plan: SyncPlan, deletionStop stop: String?) {
        for removal in plan.obstacles where stop == nil || !removal.entry.isFolder {
            add(removal, .cleared, .completed, "")
        }
        for conflict in plan.conflicts { add(conflict, isStored: conflict.copy != nil) }
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

/// What a sync has done with files.
struct SyncOutcome: Sendable {
    /// Files that the target now has as the source has them, each with its version.
    var done: [RelativePath: SyncRecord.Version] = [:]
    /// Conflicts after which the target has both versions, each with the target's own version.
    var settled: [RelativePath: SyncRecord.Version] = [:]
    /// Entries that the target no longer has; a folder stands for all its content.
    var removed: Set<RelativePath> = []
}

extension SyncPlan.Conflict {
    /// A sentence that says what is done about the conflict.
    fileprivate func end(_ copy: RelativePath?) -> String {
        if let copy { return " The target keeps its own, and has the source's as \(copy.name)." }
        // For a file that the source lacks, the message of the conflict says this already.
        return entry === there ? "" : " The target keeps its own."
    }
}

extension SyncSummary {
    fileprivate mutating func count(_ change: SyncChange) {
        guard change.isDone else {
            switch change.action {
            case .skipped: break
            case .conflict: conflicts += 1
            default: failed += 1
            }
            return
        }
        switch change.action {
        case .conflict: break
        case .kept: kept += 1
        case .new, .changed:
            sent += 1
            sentBytes = sentBytes.addingClamped(change.size)
        case .moved: moved += 1
        case .folder, .link, .hardLink: created += 1
        case .attributes: attributes += 1
        case .removed, .cleared: deleted += change.count
        case .unreadable, .skipped: break
        }
    }
}

extension ResultCode {
    /// The result as that of a change: a stored upload counts as `completed`.
    fileprivate var ofChange: ResultCode {
        switch self {
        case .committed, .alreadyStored: .completed
        default: self
        }
    }
}
