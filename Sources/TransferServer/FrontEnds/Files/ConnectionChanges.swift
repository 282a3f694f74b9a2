import TransferCatalog
import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// Folders, links and names that the client of one connection makes or changes, whatever is spoken on it. Used by one thread at
/// a time.
final class ConnectionChanges {
    private let resources: LaneResources
    private var editor: TreeEditor?
    /// What this connection puts into the trash stands together there.
    private var batch: TrashBatch?
    private var moves: [PathMove] = []
    /// Of files that were moved, and of others.
    private var moved: [VersionChange] = []
    private var changed: [VersionChange] = []

    init(_ resources: LaneResources) {
        self.resources = resources
    }

    /// Whether `commit` has to be called before anything else is changed.
    var mustCommit: Bool { editor?.isFull ?? false }

    private var current: TreeEditor {
        let current = editor ?? resources.store.editor()
        editor = current
        return current
    }

    /// Makes all of it durable, and lets the catalog know.
    func commit() throws(StoreError) {
        guard let editor else { return }
        self.editor = nil
        defer { (moves, moved, changed) = ([], [], []) }
        resources.intake.known.moved(moves, moved)
        resources.intake.known.changed(changed)
        try editor.commit()
    }
}

extension ConnectionChanges {
    func make(_ request: MakeRequest, _ client: Caller) throws(StoreError) {
        let isFolder = request.form == .directory
        let hasAttributes = request.permissions != nil || request.modified != nil || request.attributes != nil
        let path = isFolder ? try client.makable(request.path) : try client.changeable(request.path)
        if isFolder, hasAttributes || request.replaces { _ = try client.changeable(request.path) }
        switch request.form {
        // What is copied is answered by itself: `FileCopy`.
        case .nothing, .copy: break
        case .directory: try current.makeDirectory(path, replaces: request.replaces)
        case .symbolicLink: try current.makeLink(path, to: request.target, replaces: request.replaces)
        case .hardLink: try makeHardLink(path, request, client)
        }
        guard hasAttributes else { return }
        let set = try current.set(
            path, permissions: request.permissions, modified: request.modified, client.allowed(request.attributes))
        note(set, at: path)
    }

    private func makeHardLink(
        _ path: RelativePath, _ request: MakeRequest, _ client: Caller
    ) throws(StoreError) {
        guard let text = String(validating: request.target, as: UTF8.self) else {
            throw StoreError(.invalidPath, "The path of the file to link to is not UTF-8.")
        }
        let source = try client.changeable(text)
        let made = try current.makeHardLink(path, to: source, replaces: request.replaces)
        guard let version = made.version else { return }
        resources.intake.known.adopt(
            path, like: source, as: version.before, version.after, at: utcNanoseconds())
        note(made, at: source)
    }

    private func note(_ change: TreeEditor.Moved, at path: RelativePath) {
        guard let version = change.version else { return }
        changed.append(VersionChange(path: path.string, before: version.before, after: version.after))
    }

    func move(_ request: MoveRequest, _ client: Caller) throws(StoreError) {
        let target = try client.makable(request.target)
        if request.replaces { _ = try client.changeable(request.target) }
        try move(try source(of: request, client), to: target, replaces: request.replaces)
    }

    private func source(of request: MoveRequest, _ client: Caller) throws(StoreError) -> RelativePath {
        switch request.trash {
        case nil: return try client.changeable(request.path)
        case .top: throw StoreError(.invalidPath, "The trash itself cannot be moved.")
        case .batch(let batch):
            guard !request.path.isEmpty, let path = try client.trashed(request.path) else {
                throw StoreError(.invalidPath, "A part of the trash cannot be moved as a whole.")
            }
            return .trash(batch, path)
        }
    }

    private func move(_ path: RelativePath, to target: RelativePath, replaces: Bool) throws(StoreError) {
        let moment = utcNanoseconds()
        let change = try current.move(path, to: target, replaces: replaces)
        moves.append(PathMove(path.string, to: target.string, isFolder: change.version == nil, at: moment))
        guard let version = change.version else { return }
        moved.append(VersionChange(path: target.string, before: version.before, after: version.after))
    }

    /// Takes a file, or a folder with all in it, out of sight.
    func discard(_ path: RelativePath, isRecursive: Bool) throws(StoreError) {
        let isDirectory = try resources.store.isDirectory(at: path)
        guard isRecursive || !isDirectory else {
            throw StoreError(.wrongForm, "\(path) is a folder, which is only removed with all that is in it.")
        }
        do throws(StoreError) {
            try move(path, to: .trash(currentBatch, path), replaces: false)
        } catch {
            // The same path went there before.
            guard error.code == .pathConflict else { throw error }
            batch = nil
            try move(path, to: .trash(currentBatch, path), replaces: false)
        }
    }

    private var currentBatch: TrashBatch {
        let current = batch ?? TrashBatch(at: utcNanoseconds(), number: .random(in: 0...UInt32.max))
        batch = current
        return current
    }
}
