import TransferCatalog
import TransferCodec
import TransferIntake
import TransferModel
import TransferStore

/// What is stored, as the client of one connection reads and removes it, whatever is spoken on it. Whether the client may is
/// asked before. Used by one thread at a time.
final class ConnectionFiles {
    private let resources: WorkerResources
    private var reader: StoreReader?
    private let removals: StoredRemovals
    /// Whether any file is known to be rotten; asked once in a turn.
    private var hasRotten: Bool?
    private var digesters: [DigestFunction: ContentDigester] = [:]

    init(_ resources: WorkerResources) {
        self.resources = resources
        removals = StoredRemovals(resources.intake, resources.store)
    }

    /// To be called at the end of a turn: what was looked up may be something else by the next one.
    func endTurn() { (reader, hasRotten) = (nil, nil) }
}

// MARK: Reading

extension ConnectionFiles {
    private var currentReader: StoreReader {
        let current = reader ?? resources.store.reader()
        reader = current
        return current
    }

    func open(_ path: RelativePath) throws(Failure) -> StoredContent { try currentReader.open(path) }

    /// - Returns: nothing where there is nothing.
    func attributes(at path: RelativePath) -> StoredAttributes? { currentReader.attributes(at: path) }

    /// - Throws: also `contentLost`, for what is known not to be what was acknowledged.
    func openSound(_ path: RelativePath) throws(Failure) -> StoredContent {
        let content = try open(path)
        let known = resources.intake.known
        let hasRotten = hasRotten ?? known.hasRotten
        self.hasRotten = hasRotten
        guard !hasRotten || !known.isRotten(content.attributes.version) else { throw .contentLost(path) }
        return content
    }

    /// The digest that was acknowledged of a file, if it is still that file.
    func digest(of attributes: StoredAttributes, at path: RelativePath) -> Digest? { details(at: path)(attributes) }

    /// The same for a path whose file is known later, on any thread.
    func details(at path: RelativePath) -> @Sendable (StoredAttributes) -> Digest? {
        { [known = resources.intake.known] attributes in
            known.settleIfNeeded()
            return known.details(of: [(path, attributes)])[0]?.digest
        }
    }

    /// - Returns: reset; there is one for each function.
    func digester(_ function: DigestFunction) -> ContentDigester {
        let digester = digesters[function] ?? ContentDigester(function)
        digesters[function] = digester
        digester.reset()
        return digester
    }
}

// MARK: Removing

extension ConnectionFiles {
    /// - Parameter version: that a file has to have still; nothing for whatever is there.
    func beginRemoval(
        of path: RelativePath, isRecursive: Bool, version: FileVersion? = nil
    ) throws(Failure) -> Removal {
        try removals.begin(path, isRecursive: isRecursive, of: version)
    }

    /// Removes some of it.
    ///
    /// - Parameter files: is told how many files are gone, also when it fails.
    /// - Returns: whether all is gone; then `commit` has to follow.
    func goOn(_ removal: Removal, gone files: inout UInt64) throws(Failure) -> Bool {
        try removals.goOn(removal, gone: &files)
    }

    /// Whether what was removed has to be made durable before anything else is.
    var mustCommitRemovals: Bool { removals.mustCommit }

    /// Makes removals durable.
    func commit(_ removals: [Removal]) throws(Failure) { try self.removals.commit(removals) }
}
