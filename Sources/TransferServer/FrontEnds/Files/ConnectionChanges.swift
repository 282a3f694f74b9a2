import TransferIntake
import TransferModel
import TransferProtocol
import TransferStore

/// Folders, links and names that the client of one connection makes or changes, whatever is spoken on it: what it asks for becomes
/// a `TreeChange`, if it may. Used by one thread at a time.
final class ConnectionChanges {
    private let changes: TreeChanges
    /// Those that wait to be made together.
    private var waiting: [TreeChange] = []

    /// Changes that are made together.
    private static let mostAtOnce = 128

    /// - Parameter trash: where the connection puts things.
    init(_ resources: WorkerResources, _ trash: TrashPart) {
        changes = TreeChanges(resources.intake, resources.store, trash: trash, keepsReplaced: resources.trashes)
    }

    /// The command of the client that the changes are part of, as far as it has said so.
    var command: StoringCommand? {
        get { changes.command }
        set { changes.command = newValue }
    }

    /// Whether `commit` has to be called before anything else is asked for.
    var mustCommit: Bool { waiting.count >= Self.mostAtOnce }

    /// Makes all of it, durably, and lets the catalog know.
    ///
    /// - Returns: one result for each, in the order in which they were asked for.
    func commit() -> [Result<TreeChange.Done, Failure>] {
        defer { waiting = [] }
        return changes.perform(waiting)
    }
}

extension ConnectionChanges {
    func make(_ request: MakeRequest, _ client: Caller) throws(Failure) {
        changes.grant = client.grant
        let isFolder = request.form == .directory
        let hasAttributes = request.permissions != nil || request.modified != nil || request.attributes != nil
        let path = isFolder ? try client.pathForMaking(request.path) : try client.pathForChanging(request.path)
        if isFolder, hasAttributes || request.replaces { _ = try client.pathForChanging(request.path) }
        let attributes = TreeChange.Attributes(
            permissions: request.permissions, modified: request.modified, extra: client.allowed(request.attributes))
        let wanted = hasAttributes ? attributes : nil
        switch request.form {
        // What is copied is answered by itself: `FileCopy`.
        case .copy: break
        case .nothing: waiting.append(.set(path, attributes, of: request.version))
        case .directory: waiting.append(.folder(path, replaces: request.replaces, wanted, of: request.version))
        case .symbolicLink:
            waiting.append(.link(path, to: request.target, replaces: request.replaces, wanted, of: request.version))
        case .hardLink:
            guard let text = String(validating: request.target, as: UTF8.self) else {
                throw Failure(.invalidPath, "The path of the file to link to is not UTF-8.")
            }
            waiting.append(
                .hardLink(
                    path, to: try client.pathForChanging(text), replaces: request.replaces, wanted, of: request.version)
            )
        }
    }

    func move(_ request: MoveRequest, _ client: Caller) throws(Failure) {
        changes.grant = client.grant
        let target = try client.pathForMaking(request.target)
        if request.replaces { _ = try client.pathForChanging(request.target) }
        waiting.append(
            .move(try source(of: request, client), to: target, replaces: request.replaces, of: request.version))
    }

    private func source(of request: MoveRequest, _ client: Caller) throws(Failure) -> RelativePath {
        switch request.trash {
        case nil: return try client.pathForChanging(request.path)
        case .top: throw Failure(.invalidPath, "The trash itself cannot be moved.")
        case .batch(let batch):
            guard !request.path.isEmpty, let path = try client.pathInTrash(request.path) else {
                throw Failure(.invalidPath, "A part of the trash cannot be moved as a whole.")
            }
            return .trash(batch, path)
        }
    }

    /// Takes a file, or a folder with all in it, out of sight.
    ///
    /// - Parameter version: that a file has to have still; nothing for whatever is there.
    func discard(_ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil) {
        waiting.append(.discard(path, isRecursive: isRecursive, of: version))
    }
}
