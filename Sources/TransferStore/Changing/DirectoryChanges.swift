import TransferModel
import TransferPorts

/// Makes a batch of planned changes in a directory. Belongs to one task at a time.
final class DirectoryChanges: TreeEditing {
    private let store: FileStore
    private let command: StoringCommand?
    /// Keeps the files that the changes replace.
    private let places: KeptPlaces
    /// Makes the changes that are not synced yet.
    private var editor: TreeEditor

    init(_ store: FileStore, for command: StoringCommand?) {
        (self.store, self.command) = (store, command)
        places = store.keptPlaces()
        editor = store.editor(for: command, keeping: places)
    }

    var isFull: Bool { editor.isFull }

    /// Prepares all changes with one sync.
    func prepare(_ changes: [PlannedChange]) {
        places.keep(changes.compactMap(\.place))
        editor.prepare(changes.compactMap(\.renaming), beside: changes.flatMap(\.pathsBeside))
    }

    func make(_ change: PlannedChange) throws(Failure) -> MadeChange {
        do throws(Failure) {
            let version = try editor.make(change)
            return MadeChange(version: version, kept: change.place.flatMap { places.kept(at: $0.path) })
        } catch {
            if let place = change.place { places.undo(place.path) }
            throw error
        }
    }

    /// Syncs the changes. The caller records them.
    func commit(_: KnownChanges) throws(Failure) {
        defer { editor = store.editor(for: command, keeping: places) }
        try editor.commit()
    }

    func finish() -> [TouchedFile] { places.close() }
}

extension PlannedChange {
    /// The old and new path of a move; nil for other changes.
    fileprivate var renaming: TreeEditor.Renaming? {
        switch change {
        case .move(let path, let target, _, _): (path, target)
        case .discard(let path, _, _): trashed.map { (path, $0) }
        case .folder, .link, .hardLink, .set: nil
        }
    }

    /// The paths of a change that is not a move.
    fileprivate var pathsBeside: [RelativePath] { renaming == nil ? [change.path] : [] }
}

extension TreeEditor {
    /// - Returns: the version of a file after the change; nil for folders and links.
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
