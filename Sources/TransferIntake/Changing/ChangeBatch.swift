import TransferModel
import TransferPorts

/// Makes planned changes, each independently of the others, and makes them durable together.
struct ChangeBatch {
    private let known: KnownUploads
    private let store: any TreeChanging
    private let editing: any TreeEditing
    /// Whether the store records changes itself when it commits, so that they need no notes.
    private let isTransaction: Bool
    private var noted = NotedChanges.none
    /// Changes made since the last sync, with what the catalog has to record.
    private var unsynced: [(made: Made, changes: KnownChanges)] = []
    /// Changes that `RecentChanges` receives when they are committed.
    private var uncommitted: [IntendedChange] = []
    private var synced = KnownChanges()
    private var failures: [(index: Int, error: Failure)] = []
    /// For each change, by its index, the trash batch that has the file it replaced.
    private var kept: [Int: TrashBatch] = [:]
    /// The failure of a sync, after which no further changes are made; nil while no sync has failed.
    private var syncFailure: Failure?
    /// Changes that were made and whose sync has failed, or whose outcome is unknown.
    private var unresolved: [NotedChange] = []

    /// A change that was made, or that may have been made.
    private struct Made {
        /// The index among the requested changes.
        let index: Int

        /// The notes of the change; empty for a change without notes.
        let noted: [NotedChange]
    }

    /// The numbers of the notes of one change; nil if there is no note.
    private struct Numbers {
        var keeping: Int64?
        var change: Int64?
    }

    init(_ known: KnownUploads, _ store: any TreeChanging, for command: StoringCommand?) {
        (self.known, self.store, isTransaction) = (known, store, store.recordsChanges)
        editing = store.changes(for: command)
    }

    /// - Returns: the changes that failed, and for the others, by their index, the trash batch that has the file
    ///   they replaced.
    consuming func make(
        _ plans: [ChangePlan]
    ) -> (failures: [(index: Int, error: Failure)], kept: [Int: TrashBatch]) {
        var plans = plans
        do throws(Failure) {
            if !isTransaction { noted = try known.intend(plans.flatMap(\.notes), in: store) }
        } catch {
            for plan in plans where !plan.notes.isEmpty { failures.append((plan.index, error)) }
            plans.removeAll { !$0.notes.isEmpty }
        }
        editing.prepare(plans.map(\.planned))
        var position = 0
        for plan in plans {
            var numbers = Numbers()
            if plan.keeping != nil { numbers.keeping = noted.number(at: position) }
            position += plan.keeping == nil ? 0 : 1
            if plan.intended != nil { numbers.change = noted.number(at: position) }
            position += plan.intended == nil ? 0 : 1
            if editing.isFull { commit() }
            if let syncFailure { failures.append((plan.index, syncFailure)) } else { make(plan, under: numbers) }
        }
        commit()
        for file in editing.finish() { synced.add(known.touched(file)) }
        // Changes that were synced are recorded at once. The others may or may not be on the disk.
        let unresolvedNumbers = unresolved.compactMap { $0.notes.numbers?.lowerBound }
        // While `editing` exists, the store accepts the old versions of touched files, so it must exist until the
        // catalog has recorded the new ones.
        withExtendedLifetime(editing) { known.complete(noted.keeping(Set(unresolvedNumbers)), synced) }
        known.keep(unresolved: unresolved, in: store)
        return (failures, self.kept)
    }

    private mutating func make(_ plan: ChangePlan, under numbers: Numbers) {
        do throws(Failure) {
            let made = try editing.make(plan.planned)
            kept[plan.index] = made.kept?.batch
            var changes = KnownChanges()
            let keeping = keep(plan, made.kept, &changes)
            let intended = plan.intended?.made(at: known.now)
            if let intended { noteRecent(intended) }
            changes.add(intended?.outcome(as: made.version) ?? KnownChanges())
            unsynced.append((self.made(plan, keeping, intended, numbers), changes))
        } catch {
            // The client receives the error code that requests use for a file with another version.
            let isOther = error.code == .sourceChanged
            failures.append((plan.index, isOther ? .otherVersion(plan.planned.change.path) : error))
            fail(plan, under: numbers)
        }
    }

    /// Notes a change that was made. It is visible, unless its transaction is still open.
    private mutating func noteRecent(_ change: IntendedChange) {
        if isTransaction { uncommitted.append(change) } else { known.recentChanges.add(change) }
    }

    /// Notes where the replaced file is kept in the trash.
    ///
    /// - Returns: the change of the replaced file that the note describes; nil if no file is kept.
    private mutating func keep(
        _ plan: ChangePlan, _ kept: KeptFile?, _ changes: inout KnownChanges
    ) -> IntendedChange? {
        guard let keeping = plan.keeping?.made(at: known.now), let after = kept?.version?.after else {
            return plan.keeping
        }
        noteRecent(keeping)
        changes.add(keeping.outcome(nil, FoundObject(.file, after), mayBeTold: false))
        return keeping
    }

    /// Finds out what became of a change that failed: it may have been made in part, unless it belongs to a
    /// transaction.
    private mutating func fail(_ plan: ChangePlan, under numbers: Numbers) {
        guard !isTransaction else { return }
        let now = known.now
        let (keeping, intended) = (plan.keeping?.made(at: now), plan.intended?.made(at: now))
        guard keeping != nil || intended != nil else { return }
        let made = made(plan, keeping, intended, numbers)
        let all = [keeping, intended].compactMap(\.self)
        do throws(Failure) {
            var changes = KnownChanges()
            for change in all {
                let outcome = try change.outcome(in: store)
                if !outcome.isEmpty { known.recentChanges.add(change.recent(as: outcome)) }
                changes.add(outcome)
            }
            unsynced.append((made, changes))
        } catch {
            for change in all { known.recentChanges.add(change) }
            unresolved += made.noted
        }
    }

    private func made(
        _ plan: ChangePlan, _ keeping: IntendedChange?, _ intended: IntendedChange?, _ numbers: Numbers
    ) -> Made {
        let notes = [(keeping, numbers.keeping), (intended, numbers.change)].compactMap { change, number in
            number.map { NotedChange(change, under: $0, newest: noted.newest) }
        }
        return Made(index: plan.index, noted: notes)
    }

    private mutating func commit() {
        defer { (unsynced, uncommitted) = ([], []) }
        var changes = KnownChanges()
        for made in unsynced { changes.add(made.changes) }
        if isTransaction { known.recent.forget(changes.paths) }
        do throws(Failure) {
            try editing.commit(changes)
            for change in uncommitted { known.recentChanges.add(change) }
            if !isTransaction { synced.add(changes) }
        } catch {
            let failed = Set(failures.map(\.index))
            for (made, changes) in unsynced {
                let hasFailed = failed.contains(made.index)
                if !hasFailed { failures.append((made.index, error)) }
                // A change that failed and has no outcome to record has changed nothing, so it is not unresolved.
                if !hasFailed || !changes.isEmpty { unresolved += made.noted }
            }
            syncFailure = error
        }
    }
}

extension ChangePlan {
    /// The notes of the change, in the order in which they are made.
    fileprivate var notes: [IntendedChange] { [keeping, intended].compactMap(\.self) }
}

extension IntendedChange {
    /// What became of a change that failed and of which the catalog has no record.
    ///
    /// - Throws: if the outcome cannot be found out.
    fileprivate func outcome(in store: any StoredTree) throws(Failure) -> KnownChanges {
        guard let path = RelativePath(stored: path), let target = RelativePath(stored: target) else {
            return KnownChanges()
        }
        let other = path == target ? nil : try store.object(at: target)
        return outcome(try store.object(at: path), other, mayBeTold: false)
    }

    /// What a failed change has done to its file, for `RecentChanges`. If a file that should move has kept its path,
    /// only its attributes count as changed: it may have had a second name for a moment.
    fileprivate func recent(as outcome: KnownChanges) -> IntendedChange {
        guard [.move, .keep, .folder].contains(form), outcome.moves.isEmpty, outcome.kept.isEmpty else { return self }
        return IntendedChange(.attributes, path, before: before, at: moment)
    }

    /// The outcome of a change that was made.
    ///
    /// - Parameter after: the version of the file afterwards.
    fileprivate func outcome(as after: ContentVersion?) -> KnownChanges {
        let made = after.map { FoundObject(form == .folder ? .folder : .file, $0) }
        let done = after.map { self.done(as: $0) } ?? self
        return switch form {
        case .move, .keep: done.outcome(nil, made)
        case .folder: done.outcome(nil, FoundObject(.folder, before))
        case .link: done.outcome(made, made)
        case .attributes: done.outcome(made, nil)
        case .replacement: done.outcome(nil, nil)
        }
    }
}
