import TransferCatalog
import TransferModel
import TransferPorts
import TransferStore

/// Makes changes that were planned together, each by itself and durable with the others.
struct ChangeBatch {
    private let known: KnownUploads
    private let store: FileStore
    private let command: StoringCommand?
    private var editor: TreeEditor
    /// Where what gives way is kept.
    private let places: KeptPlaces
    private var noted = NotedChanges.none
    /// What was made since the last sync, with what the catalog has to be told of it.
    private var unsynced: [(made: Made, changes: KnownChanges)] = []
    private var synced = KnownChanges()
    private var failures: [(index: Int, error: Failure)] = []
    /// Parts of the trash that have what gave way, by the index of the change.
    private var kept: [Int: TrashBatch] = [:]
    /// Why nothing more is made.
    private var syncFailure: Failure?
    /// Changes that were made and whose sync has failed, or of which it cannot be told what came of them.
    private var unsettled: [NotedChange] = []

    /// A change that was made, or may have been.
    private struct Made {
        /// Its index among the changes that are wanted.
        let index: Int

        /// Its notes; empty for a change without any.
        let noted: [NotedChange]
    }

    /// The numbers of the notes of one change; nil where there is no note.
    private struct Numbers {
        var keeping: Int64?
        var change: Int64?
    }

    init(_ known: KnownUploads, _ store: FileStore, for command: StoringCommand?) {
        (self.known, self.store, self.command) = (known, store, command)
        places = store.keptPlaces()
        editor = store.editor(for: command, keeping: places)
    }

    /// - Returns: those that failed; and of the others, by their index, which part of the trash has what gave way to them.
    consuming func make(
        _ planned: [PlannedChange]
    ) -> (failures: [(index: Int, error: Failure)], kept: [Int: TrashBatch]) {
        var planned = planned
        do throws(Failure) {
            noted = try known.intend(planned.flatMap(\.notes), in: store)
        } catch {
            for change in planned where !change.notes.isEmpty { failures.append((change.index, error)) }
            planned.removeAll { !$0.notes.isEmpty }
        }
        // Before anything loses a name, with one sync for all of it.
        places.keep(planned.compactMap(\.place))
        editor.prepare(planned.compactMap(\.renaming), beside: planned.flatMap(\.pathsBeside))
        var position = 0
        for change in planned {
            var numbers = Numbers()
            if change.keeping != nil { numbers.keeping = noted.number(at: position) }
            position += change.keeping == nil ? 0 : 1
            if change.intended != nil { numbers.change = noted.number(at: position) }
            position += change.intended == nil ? 0 : 1
            if editor.isFull { commit() }
            if let syncFailure { failures.append((change.index, syncFailure)) } else { make(change, under: numbers) }
        }
        commit()
        for file in places.close() { synced.add(known.touched(file)) }
        // The catalog is told at once of what was synced. The disk may have either state of the others.
        let unsettledNumbers = unsettled.compactMap { $0.notes.numbers?.lowerBound }
        known.complete(noted.keeping(Set(unsettledNumbers)), synced)
        known.keep(unsettled: unsettled, in: store)
        return (failures, self.kept)
    }

    private mutating func make(_ planned: PlannedChange, under numbers: Numbers) {
        do throws(Failure) {
            let after = try editor.make(planned)
            var changes = KnownChanges()
            let keeping = keep(planned, &changes)
            let intended = planned.intended?.made(at: known.now)
            if let intended { known.recentChanges.add(intended) }
            changes.add(intended?.outcome(as: after) ?? KnownChanges())
            unsynced.append((made(planned, keeping, intended, numbers), changes))
        } catch {
            // A client knows this by the name that it has for what it reads.
            let isOther = error.code == .sourceChanged
            failures.append((planned.index, isOther ? .otherVersion(planned.change.path) : error))
            if let place = planned.place { places.undo(place.path) }
            fail(planned, under: numbers)
        }
    }

    /// What has given way, and is kept, is known there.
    ///
    /// - Returns: what is to be noted of that.
    private mutating func keep(_ planned: PlannedChange, _ changes: inout KnownChanges) -> IntendedChange? {
        let found = planned.place.flatMap { places.kept(at: $0.path) }
        kept[planned.index] = found?.batch
        guard let keeping = planned.keeping?.made(at: known.now), let after = found?.version?.after else {
            return planned.keeping
        }
        known.recentChanges.add(keeping)
        changes.add(keeping.outcome(nil, FoundObject(.file, after), mayBeTold: false))
        return keeping
    }

    /// A change that was refused may have been made in part.
    private mutating func fail(_ planned: PlannedChange, under numbers: Numbers) {
        let now = known.now
        let (keeping, intended) = (planned.keeping?.made(at: now), planned.intended?.made(at: now))
        guard keeping != nil || intended != nil else { return }
        let made = made(planned, keeping, intended, numbers)
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
            unsettled += made.noted
        }
    }

    private func made(
        _ planned: PlannedChange, _ keeping: IntendedChange?, _ intended: IntendedChange?, _ numbers: Numbers
    ) -> Made {
        let notes = [(keeping, numbers.keeping), (intended, numbers.change)].compactMap { change, number in
            number.map { NotedChange(change, under: $0, newest: noted.newest) }
        }
        return Made(index: planned.index, noted: notes)
    }

    private mutating func commit() {
        defer { unsynced = [] }
        do throws(Failure) {
            try editor.commit()
            for made in unsynced { synced.add(made.changes) }
        } catch {
            let failed = Set(failures.map(\.index))
            for (made, changes) in unsynced {
                let hasFailed = failed.contains(made.index)
                if !hasFailed { failures.append((made.index, error)) }
                // What was refused has changed nothing.
                if !hasFailed || !changes.isEmpty { unsettled += made.noted }
            }
            syncFailure = error
        }
        editor = store.editor(for: command, keeping: places)
    }
}

extension PlannedChange {
    /// What has to be noted of it, in the order in which it is made.
    fileprivate var notes: [IntendedChange] { [keeping, intended].compactMap(\.self) }

    /// From where to where it moves something; nil where it moves nothing.
    fileprivate var renaming: TreeEditor.Renaming? {
        switch change {
        case .move(let path, let target, _, _): (path, target)
        case .discard(let path, _, _): trashed.map { (path, $0) }
        case .folder, .link, .hardLink, .set: nil
        }
    }

    /// The paths that it is about where it moves nothing.
    fileprivate var pathsBeside: [RelativePath] { renaming == nil ? [change.path] : [] }
}

extension IntendedChange {
    /// What has become of a change that has failed, and that the catalog was never told of.
    ///
    /// - Throws: where that cannot be told.
    fileprivate func outcome(in store: FileStore) throws(Failure) -> KnownChanges {
        guard let path = RelativePath(stored: path), let target = RelativePath(stored: target) else {
            return KnownChanges()
        }
        let other = path == target ? nil : try store.object(at: target)
        return outcome(try store.object(at: path), other, mayBeTold: false)
    }

    /// What a failed change has done to its file, for `RecentChanges`. A file that kept its path may have had a second name for a moment:
    /// that changes its attributes, and the file is not at the target.
    fileprivate func recent(as outcome: KnownChanges) -> IntendedChange {
        guard [.move, .keep, .folder].contains(form), outcome.moves.isEmpty, outcome.kept.isEmpty else { return self }
        return IntendedChange(.attributes, path, before: before, at: moment)
    }

    /// What has become of it when it was made.
    ///
    /// - Parameter after: what a file is then.
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

extension TreeEditor {
    /// - Returns: what a file is behind it; nothing for what is none.
    fileprivate func make(_ planned: PlannedChange) throws(Failure) -> ContentVersion? {
        let expected = planned.expected
        switch planned.change {
        case .folder(let path, let replaces, let attributes, _):
            try makeDirectory(path, replaces: replaces, as: planned.compared, permissions: attributes?.permissions)
            return try set(path, attributes)
        case .link(let path, let text, let replaces, let attributes, _):
            try makeLink(path, to: text, replaces: replaces, as: planned.compared)
            return try set(path, attributes)
        case .hardLink(let path, let source, let replaces, let attributes, _):
            let made = try makeHardLink(
                path, to: source, replaces: replaces, expecting: expected, as: planned.compared)
            return try set(path, attributes) ?? made.version?.after
        case .set(let path, let attributes, _):
            return try set(path, attributes, expecting: expected, as: planned.compared)
        case .move(let path, let target, let replaces, _):
            return try move(path, to: target, replaces: replaces, expecting: expected, as: planned.compared)
                .version?.after
        case .discard(let path, _, _):
            guard let target = planned.trashed else { return nil }
            return try move(path, to: target, expecting: expected, as: planned.compared).version?.after
        }
    }

    private func set(
        _ path: RelativePath, _ attributes: TreeChange.Attributes?, expecting expected: ContentVersion? = nil,
        as compared: ComparedFile? = nil
    ) throws(Failure) -> ContentVersion? {
        guard let attributes else { return nil }
        return try set(
            path, permissions: attributes.permissions, modified: attributes.modified, attributes.extra,
            expecting: expected, as: compared
        ).version?.after
    }
}
