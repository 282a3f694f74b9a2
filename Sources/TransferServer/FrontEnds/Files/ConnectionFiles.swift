import TransferCodec
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// Reading and removing files for the client of one connection, on any wire. The caller has to check the client's rights first. Used by one
/// thread at a time.
final class ConnectionFiles {
    private let resources: WorkerResources
    private var reader: (any TreeReader)?
    private let removals: StoredRemovals
    /// Whether any file is known to be rotten; read once in a turn.
    private var hasRotten: Bool?
    private var digesters: [DigestFunction: ContentDigester] = [:]

    init(_ resources: WorkerResources) {
        self.resources = resources
        removals = StoredRemovals(resources.intake, resources.tree)
    }

    /// To be called at the end of each turn: open folders and lookups may be out of date in the next one.
    func endTurn() { (reader, hasRotten) = (nil, nil) }
}

// MARK: Reading

extension ConnectionFiles {
    private var currentReader: any TreeReader {
        let current = reader ?? resources.tree.reader()
        reader = current
        return current
    }

    /// - Parameter name: the name of the file in failures; nil for its path.
    func open(_ path: RelativePath, as name: RelativePath? = nil) throws(Failure) -> any ReadableContent {
        try currentReader.open(path, as: name ?? path)
    }

    /// - Returns: nil if the path does not exist.
    func attributes(at path: RelativePath) -> StoredAttributes? { currentReader.attributes(at: path) }

    /// Opens a file that is not known to be rotten.
    ///
    /// - Throws: also `contentLost`, for a file whose content is known to differ from what was acknowledged.
    func openSound(_ path: RelativePath) throws(Failure) -> any ReadableContent {
        let content = try open(path)
        let known = resources.intake.known
        let hasRotten = hasRotten ?? known.hasRotten
        self.hasRotten = hasRotten
        guard !hasRotten || !known.isRotten(content.attributes.version) else { throw .contentLost(path) }
        return content
    }

    /// The digest that was acknowledged for a file, if the file still has that version.
    func digest(of attributes: StoredAttributes, at path: RelativePath) -> Digest? { details(at: path)(attributes) }

    /// Finds the digest as `digest(of:at:)` does, for a path whose attributes become known later. The closure may be called on any thread.
    func details(at path: RelativePath) -> @Sendable (StoredAttributes) -> Digest? {
        { [known = resources.intake.known] attributes in
            known.indexIfNeeded()
            return known.details(of: [(path, attributes)])[0]?.digest
        }
    }

    /// The digester of this connection for a function, reset.
    func digester(_ function: DigestFunction) -> ContentDigester {
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return digester
    }
}

// MARK: Removing

extension ConnectionFiles {
    /// - Parameter version: the version that the file must still have; nil for any.
    func beginRemoval(
        of path: RelativePath, isRecursive: Bool, version: FileVersion? = nil
    ) throws(Failure) -> any TreeRemoval {
        try removals.begin(path, isRecursive: isRecursive, of: version)
    }

    /// Removes some of the files.
    ///
    /// - Parameter files: increased by the number of removed files, also if this throws.
    /// - Returns: whether all are removed; then `commitRemovals` has to follow.
    func goOn(_ removal: any TreeRemoval, gone files: inout UInt64) throws(Failure) -> Bool {
        try removals.goOn(removal, gone: &files)
    }

    /// Whether removals have to be made durable before the next one begins.
    var mustCommitRemovals: Bool { removals.mustCommit }

    /// Syncs the completed removals to the disk.
    func commitRemovals() throws(Failure) { try removals.commit() }
}

/// Changes of folders, links and names by the client of one connection, on any wire: a request that the client may make becomes a
/// `TreeChange`. Used by one thread at a time.
final class ConnectionChanges {
    private let resources: WorkerResources
    private let trash: OpenTrashBatch
    private let changes: TreeChanges
    /// Changes that wait to be made together.
    private var waiting: [TreeChange] = []

    /// Most changes that are made together.
    private static let mostAtOnce = 128

    /// - Parameter trash: the trash batch for what this connection replaces or removes.
    init(_ resources: WorkerResources, _ trash: OpenTrashBatch) {
        (self.resources, self.trash) = (resources, trash)
        changes = TreeChanges(resources.intake, resources.tree, trash: trash, keepsReplaced: resources.trashes)
    }

    /// The client's command that the changes are part of; nil if the client has not stated it.
    var command: StoringCommand? {
        get { changes.command }
        set { changes.command = newValue }
    }

    /// Whether `commit` has to be called before the next change.
    var mustCommit: Bool { waiting.count >= Self.mostAtOnce }

    /// Makes all waiting changes, durably, and records them in the catalog.
    ///
    /// - Returns: one result for each, in the order of the requests.
    func commit() -> [Result<TreeChange.Done, Failure>] {
        defer { waiting = [] }
        return changes.perform(waiting)
    }
}

extension ConnectionChanges {
    /// Adds a change that a client requests to those that `commit` makes.
    ///
    /// - Parameter request: a `make` that is no copy, a `move`, or a `remove` that moves something to the trash.
    func add(_ request: Request, _ caller: Caller) throws(Failure) {
        switch request {
        case .make(let make): try self.make(make, caller)
        case .move(let move): try self.move(move, caller)
        case .remove(let remove):
            guard remove.trash == nil else { throw Failure(.invalidPath, "It is in the trash already.") }
            discard(try caller.pathForRemoving(remove.path), isRecursive: remove.isRecursive, of: remove.version)
        default: throw Failure(.wrongForm, "The request changes nothing.")
        }
    }

    func make(_ request: MakeRequest, _ caller: Caller) throws(Failure) {
        changes.grant = caller.grant
        let isFolder = request.form == .directory
        let hasAttributes = request.permissions != nil || request.modified != nil || request.attributes != nil
        let path = isFolder ? try caller.pathForMaking(request.path) : try caller.pathForChanging(request.path)
        if isFolder, hasAttributes || request.replaces { _ = try caller.pathForChanging(request.path) }
        let attributes = TreeChange.Attributes(
            permissions: request.permissions, modified: request.modified, extra: caller.allowed(request.attributes))
        let wanted = hasAttributes ? attributes : nil
        switch request.form {
        // See `copy`.
        case .copy: break
        case .nothing: waiting.append(.set(path, attributes, of: request.version))
        case .directory: waiting.append(.folder(path, replaces: request.replaces, wanted, of: request.version))
        case .symbolicLink:
            waiting.append(.link(path, to: request.target, replaces: request.replaces, wanted, of: request.version))
        case .hardLink:
            guard resources.intake.store.abilities.linksFiles else { throw .noSecondNames }
            guard let text = String(validating: request.target, as: UTF8.self) else {
                throw Failure(.invalidPath, "The path of the file to link to is not UTF-8.")
            }
            waiting.append(
                .hardLink(
                    path, to: try caller.pathForChanging(text), replaces: request.replaces, wanted, of: request.version)
            )
        }
    }

    /// Begins to copy a file. A copy does not wait for `commit`.
    ///
    /// - Parameter sender: the connection of the request.
    func copy(
        _ request: MakeRequest, _ caller: Caller, _ files: ConnectionFiles, sender: Sender?
    ) throws(Failure) -> FileCopy {
        guard let text = String(validating: request.target, as: UTF8.self), let source = try caller.pathForReading(text)
        else {
            throw Failure(.invalidPath, "The path of the file to copy is not valid.")
        }
        let target = try caller.pathForMaking(request.path)
        return try FileCopy(
            request, from: source, try files.openSound(source), to: target, resources, caller, sender: sender,
            command: changes.command, trash: resources.trashes ? trash : nil)
    }

    private func move(_ request: MoveRequest, _ caller: Caller) throws(Failure) {
        changes.grant = caller.grant
        let target = try caller.pathForMaking(request.target)
        if request.replaces { _ = try caller.pathForChanging(request.target) }
        waiting.append(
            .move(try source(of: request, caller), to: target, replaces: request.replaces, of: request.version))
    }

    private func source(of request: MoveRequest, _ caller: Caller) throws(Failure) -> RelativePath {
        switch request.trash {
        case nil: return try caller.pathForChanging(request.path)
        case .top: throw Failure(.invalidPath, "The trash itself cannot be moved.")
        case .batch(let batch):
            guard !request.path.isEmpty, let path = try caller.pathInTrash(request.path) else {
                throw Failure(.invalidPath, "A trash batch cannot be moved as a whole.")
            }
            return .trash(batch, path)
        }
    }

    /// Puts a file, or a folder with its content, into the trash.
    ///
    /// - Parameter version: the version that the file must still have; nil for any.
    func discard(_ path: RelativePath, isRecursive: Bool, of version: FileVersion? = nil) {
        waiting.append(.discard(path, isRecursive: isRecursive, of: version))
    }
}

extension Failure {
    fileprivate static let noSecondNames = Failure(
        .wrongForm, "This store does not support hard links; send the file again in place of the hard link.")
}
