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
    private let changes: TreeChanges
    private let linksFiles: Bool
    /// Changes that wait to be made together.
    private var waiting: [TreeChange] = []

    /// Most changes that are made together.
    private static let mostAtOnce = 128

    /// - Parameter trash: the trash batch for what this connection replaces or removes.
    init(_ resources: WorkerResources, _ trash: OpenTrashBatch) {
        changes = TreeChanges(resources.intake, resources.tree, trash: trash, keepsReplaced: resources.trashes)
        linksFiles = resources.intake.store.abilities.linksFiles
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
        // A copy is answered separately, by `FileCopy`.
        case .copy: break
        case .nothing: waiting.append(.set(path, attributes, of: request.version))
        case .directory: waiting.append(.folder(path, replaces: request.replaces, wanted, of: request.version))
        case .symbolicLink:
            waiting.append(.link(path, to: request.target, replaces: request.replaces, wanted, of: request.version))
        case .hardLink:
            guard linksFiles else { throw .noSecondNames }
            guard let text = String(validating: request.target, as: UTF8.self) else {
                throw Failure(.invalidPath, "The path of the file to link to is not UTF-8.")
            }
            waiting.append(
                .hardLink(
                    path, to: try caller.pathForChanging(text), replaces: request.replaces, wanted, of: request.version)
            )
        }
    }

    func move(_ request: MoveRequest, _ caller: Caller) throws(Failure) {
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

/// The answer to a `make` of a copy: copies some of a long file in each turn, unless the file system lets two files share content.
///
/// A copy is published like an upload: complete, durable, and with its source's acknowledged digest.
final class FileCopy: RequestAnswer {
    private let request: MakeRequest
    private let resources: WorkerResources
    private let caller: Caller
    private let source: RelativePath
    private let target: RelativePath
    private let content: any ReadableContent
    private let extra: ExtraAttributes
    /// The catalog's entry of the source; nil if it has none.
    private let known: CatalogEntry?
    private let staged: any StagedContent
    private let digester: ContentDigester
    /// Whether the staged file shares the source's content, so that nothing is read.
    private let isShared: Bool
    private let sender: Sender?
    private let command: StoringCommand?
    private let trash: OpenTrashBatch?
    private let begun = utcNanoseconds()

    /// Bytes that are read in one turn.
    private static let bytesAtOnce: UInt64 = 16 << 20
    private static let readSize = 256 << 10

    /// - Parameters:
    ///   - content: the source, which the client may read.
    ///   - sender: the connection of the request.
    ///   - command: the client's command that the copy is part of.
    ///   - trash: takes the file that the copy replaces; nil to delete that file.
    /// - Throws: `uploadTooLarge` for more than the client may store, and the store's failures.
    init(
        _ request: MakeRequest, from source: RelativePath, _ content: any ReadableContent, to target: RelativePath,
        _ resources: WorkerResources, _ caller: Caller, sender: Sender?, command: StoringCommand?,
        trash: OpenTrashBatch?
    ) throws(Failure) {
        (self.request, self.resources, self.caller) = (request, resources, caller)
        (self.sender, self.command, self.trash) = (sender, command, trash)
        (self.source, self.target, self.content) = (source, target, content)
        let attributes = content.attributes
        let limit = caller.maximumUpload(of: resources.intake.maximumUpload)
        guard attributes.size <= limit else { throw .uploadTooLarge(limit) }
        let whole = try resources.tree.whole(at: source)
        guard !whole.isPartial || request.attributes != nil else {
            throw Failure(.storageFailed, "The extended attributes of \(source) are too large for a copy.")
        }
        extra = ExtraAttributes(extended: whole.extra.extended)
        known = resources.intake.known.details(of: [(source, attributes)])[0]
        staged = try resources.intake.store.stage(
            id: .random(), size: attributes.size, filled: content.filled, permissions: attributes.permissions,
            quota: resources.intake.quotas.quota(for: caller.grant))
        digester = ContentDigester(known?.digest?.algorithm.function ?? .xxh128)
        // Without a known digest the content has to be read.
        isShared = known?.digest == nil ? false : try content.share(with: staged)
        content.expectAll()
    }

    var id: UInt32 { request.id }
    var subject: String { request.path }

    func fill(_ chunk: AnswerChunk) throws(Failure) -> Outcome? {
        guard chunk.takesMessage else { return nil }
        if !isShared, try !copySome() { return nil }
        guard content.isUnchanged else { throw Failure(.fileChanged, "\(source) changed while it was copied.") }
        let digest = isShared ? known?.digest : digester.finish().digest
        guard let digest else { throw Failure(.storageFailed, "\(source) could not be copied.") }
        if let stored = known?.digest, stored != digest { throw .contentLost(source) }
        var outcome = Outcome(id: id, code: .completed, count: 1)
        outcome.trash = try publish(digest)
        outcome.isDurable = resources.isDurable
        return outcome
    }

    /// - Returns: whether the end of the source was reached.
    private func copySome() throws(Failure) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        let end = digester.size.addingClamped(Self.bytesAtOnce)
        while digester.size < end {
            let offset = digester.size
            let run = content.run(at: offset)
            guard !run.isHole else {
                try copyHole(min(run.count, UInt64(ZeroBytes.count)), at: offset)
                continue
            }
            let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: run.count)))
            let count = try content.read(into: buffer, at: offset)
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if count > 0 { try staged.write(bytes, at: offset) }
            digester.update(bytes) { _, _ in }
            // Room is reserved only for the size at the beginning, but other programs can make the source grow without end.
            guard digester.size <= content.attributes.size else {
                throw Failure(.fileChanged, "\(source) changed while it was copied.")
            }
            guard count == buffer.count else { return true }
        }
        return false
    }

    private func copyHole(_ count: UInt64, at offset: UInt64) throws(Failure) {
        let zeros = ZeroBytes.prefix(Int(count))
        try staged.clear(offset..<offset + UInt64(zeros.count))
        digester.update(zeros) { _, _ in }
    }

    /// - Returns: the trash batch with the replaced file; nil if no file was replaced.
    private func publish(_ digest: Digest) throws(Failure) -> TrashBatch? {
        let attributes = content.attributes
        var publication = Publication(
            staged: staged, id: .random(), path: target, size: attributes.size, digest: digest,
            conflict: request.replaces ? .overwrite : .fail, modified: request.modified ?? attributes.modified,
            permissions: request.permissions ?? attributes.permissions)
        publication.attributes = caller.allowed(request.attributes ?? extra)
        publication.keepsPermissions = request.permissions != nil
        (publication.sender, publication.command, publication.trash) = (sender, command, trash)
        let kind = known?.kind ?? .file
        return try resources.intake.publish(copy: publication, kind, for: caller, begun: begun)?.trash
    }

    func events(peer: String) -> [LogEvent] { [.changed(.make(request), peer: peer)] }
}

extension Failure {
    fileprivate static let noSecondNames = Failure(
        .wrongForm, "This store does not support hard links; send the file again in place of the hard link.")
}
