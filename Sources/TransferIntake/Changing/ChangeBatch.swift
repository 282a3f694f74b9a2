import TransferCatalog
import TransferModel
import TransferStore

/// Makes changes that were planned together, each by itself and durable with the others.
struct ChangeBatch {
    private let known: KnownUploads
    private let store: FileStore
    private var editor: TreeEditor
    /// What was made since the last sync, with what the catalog has to be told of it.
    private var unsynced: [(index: Int, changes: KnownChanges)] = []
    private var synced = KnownChanges()
    private var failures: [(index: Int, error: StoreError)] = []
    /// Why nothing more is made.
    private var syncFailure: StoreError?
    /// Whether nobody can say what came of something.
    private var isUncertain = false

    init(_ known: KnownUploads, _ store: FileStore) {
        (self.known, self.store) = (known, store)
        editor = store.editor()
    }

    /// - Returns: those that failed.
    consuming func make(_ planned: [PlannedChange]) -> [(index: Int, error: StoreError)] {
        let noted: NotedChanges
        var planned = planned
        do throws(StoreError) {
            noted = try known.intend(planned.compactMap(\.intended), in: store)
        } catch {
            for change in planned where change.intended != nil { failures.append((change.index, error)) }
            planned.removeAll { $0.intended != nil }
            noted = .none
        }
        for change in planned {
            if editor.isFull { commit() }
            if let syncFailure { failures.append((change.index, syncFailure)) } else { make(change) }
        }
        commit()
        // The disk may have either after a failed sync: the next server finds out.
        known.complete(syncFailure == nil && !isUncertain ? noted : noted.kept, synced)
        return failures
    }

    private mutating func make(_ planned: PlannedChange) {
        do throws(StoreError) {
            let after = try editor.make(planned)
            unsynced.append((planned.index, planned.intended.map { made($0).outcome(as: after) } ?? KnownChanges()))
        } catch {
            // A client knows this by the name that it has for what it reads.
            let isOther = error.code == .sourceChanged
            failures.append((planned.index, isOther ? .otherVersion(planned.change.path) : error))
            // It may have been made in part.
            guard let intended = planned.intended else { return }
            do throws(StoreError) {
                unsynced.append((planned.index, try made(intended).outcome(in: store)))
            } catch {
                isUncertain = true
            }
        }
    }

    /// From now on whoever has stored something under its path looks where that is.
    private func made(_ intended: IntendedChange) -> IntendedChange {
        known.moved.add(intended)
        return intended.made(at: known.now)
    }

    private mutating func commit() {
        defer { unsynced = [] }
        do throws(StoreError) {
            try editor.commit()
            for made in unsynced { synced.add(made.changes) }
        } catch {
            let failed = Set(failures.map(\.index))
            for made in unsynced where !failed.contains(made.index) { failures.append((made.index, error)) }
            syncFailure = error
        }
        editor = store.editor()
    }
}

extension IntendedChange {
    /// What has become of it by now.
    ///
    /// - Throws: where nobody can say.
    func outcome(in store: FileStore) throws(StoreError) -> KnownChanges {
        guard let path = RelativePath(stored: path), let target = RelativePath(stored: target) else {
            return KnownChanges()
        }
        return outcome(try store.object(at: path), path == target ? nil : try store.object(at: target))
    }

    /// What has become of it when it was made.
    ///
    /// - Parameter after: what a file is then.
    fileprivate func outcome(as after: ContentVersion?) -> KnownChanges {
        let made = after.map { FoundObject(form == .folder ? .folder : .file, $0) }
        let done = after.map { self.done(as: $0) } ?? self
        return switch form {
        case .move: done.outcome(nil, made)
        case .folder: done.outcome(nil, FoundObject(.folder, before))
        case .link: done.outcome(made, made)
        case .attributes: done.outcome(made, nil)
        case .replacement: done.outcome(nil, nil)
        }
    }
}

extension TreeEditor {
    /// - Returns: what a file is behind it; nothing for what is none.
    fileprivate func make(_ planned: PlannedChange) throws(StoreError) -> ContentVersion? {
        let expected = planned.intended?.before
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
            let moved = planned.intended?.form == .replacement ? nil : expected
            return try move(path, to: target, replaces: replaces, expecting: moved, as: planned.compared).version?.after
        case .discard(let path, _, _):
            guard let target = planned.trashed else { return nil }
            return try move(path, to: target, expecting: expected, as: planned.compared).version?.after
        }
    }

    private func set(
        _ path: RelativePath, _ attributes: TreeChange.Attributes?, expecting expected: ContentVersion? = nil,
        as compared: ComparedFile? = nil
    ) throws(StoreError) -> ContentVersion? {
        guard let attributes else { return nil }
        return try set(
            path, permissions: attributes.permissions, modified: attributes.modified, attributes.extra,
            expecting: expected, as: compared
        ).version?.after
    }
}
