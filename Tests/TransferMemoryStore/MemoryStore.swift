package import TransferModel
package import TransferPorts
package import TransferSystem

/// The state that a store in memory keeps from one server to the next. Safe to use from any thread.
package final class MemoryMedium: Sendable {
    struct State: Sendable {
        var tree: MemoryTree
        /// The bytes of unfinished uploads.
        var parts: [UploadID: MemoryPart] = [:]
        /// The largest epoch of any upload so far.
        var lastEpoch: UInt64 = 0
        /// Append uploads, including those whose bytes are published already.
        var appends: [UploadID: MemoryAppend] = [:]
        var rules = MemoryRules()
        var isServed = false
        var wasServed = false
    }

    /// The number of bytes that a medium has room for.
    static let capacity: UInt64 = 1 << 40

    let state: Locked<State>
    /// The state before the publication in progress, if a test follows the medium. The publication calls closures of
    /// the caller while it holds the lock. If one of them ends the process, `inspect` reads this state.
    let before = Locked<State?>(nil)
    /// Called before each publication and before changes are made durable, if a test follows the medium. Other programs
    /// may change the medium then.
    let between = Locked<(@Sendable () -> Void)?>(nil)
    let clock: @Sendable () -> Int64

    /// - Parameter clock: UTC, in nanoseconds since 1970.
    package init(clock: @escaping @Sendable () -> Int64 = utcNanoseconds) {
        self.clock = clock
        state = Locked(State(tree: MemoryTree(clock: clock)))
    }

    /// The content of a file; nil if there is no file at the path.
    package func content(_ path: RelativePath) -> [UInt8]? {
        state.withLock { $0.tree.node(at: path)?.bytes?.bytes }
    }

    /// All paths below a folder.
    package func paths(below folder: RelativePath? = nil) -> [String] {
        state.withLock { state in
            func paths(_ folder: RelativePath?) -> [String] {
                guard let node = state.tree.node(at: folder) else { return [] }
                return state.tree.names(in: node).flatMap { name, node in
                    guard let path = RelativePath.child(name, of: folder) else { return [String]() }
                    return [path.string] + paths(path)
                }
            }
            return paths(folder)
        }
    }

    /// The IDs of unfinished uploads.
    package var uploads: [UploadID] { state.withLock { Array($0.parts.keys) } }

    /// Removes a file, or a folder with its content, as another program would, without the server's knowledge.
    package func remove(_ path: RelativePath) throws(Failure) {
        let node = state.withLock { $0.tree.take(path) }
        if node == nil { throw .notFound(path) }
    }

    /// Writes a file as another program would, without the server's knowledge.
    package func write(_ content: [UInt8], _ path: RelativePath) throws(Failure) {
        try state.withLock { (state) throws(Failure) in
            if let node = state.tree.node(at: path) {
                state.tree.write(PagedBytes(content), to: node.number)
            } else {
                try state.tree.makeFolder(path.parent)
                let number = state.tree.make(.file(PagedBytes(content)), permissions: 0o644)
                try state.tree.give(path, to: number)
            }
        }
    }
}

/// The state that one server keeps about its clients. The next server starts without it.
struct MemoryRules: Sendable {
    var overwrites = Overwrites()
    var commands = CommandFiles()
}

extension MemoryMedium.State {
    /// - Throws: `pathConflict` if the same command has stored the file that it would replace.
    func check(_ there: MemoryTree.Node, _ command: StoringCommand?, _ path: RelativePath) throws(Failure) {
        guard there.bytes != nil else { return }
        let other = try rules.commands.check(there.version, hasOtherNames: there.names > 1, command, path)
        guard let other else { return }
        guard tree.node(at: other)?.number == there.number else { throw .ownFile(path) }
    }
}

/// A store in memory with all abilities of a directory, for tests that compare the two. No operation fails because of
/// the medium, each publication and each change takes effect at one moment, and stored content outlives the server but
/// not the process.
package final class MemoryStore: ServerStore, RereadStore {
    let medium: MemoryMedium
    let space: MemorySpace?
    package let durability: Durability
    package let isNew: Bool
    private let makesRoom: RoomMakers

    package let abilities: StoreAbilities
    /// The records that are completed with each commit of changes; nil if the caller records the changes.
    let changeRecords: (any UploadRecords)?
    package var recordsChanges: Bool { changeRecords != nil }
    package let isInDoubt = false
    package let identity: [UInt8]? = nil
    package let isReadOnly = false
    package let isSerial = false
    package var parts: (any PartStore)? { self }
    package var appends: (any AppendStore)? { self }
    package var rereads: (any RereadStore)? { self }

    /// - Parameters:
    ///   - durability: the durability that acknowledgements state. The medium keeps all content either way.
    ///   - abilities: the abilities that the store reports. It has all of them either way.
    ///   - records: records that are completed with each commit of changes. Only for tests without a quota in which no
    ///     other thread changes the store meanwhile.
    ///   - clock: nanoseconds of a monotonic clock, which decides when the quota may be counted again.
    /// - Throws: `busy` while another server uses the medium.
    package init(
        _ medium: MemoryMedium, durability: Durability = .commit, limits: SpaceLimits = SpaceLimits(),
        abilities: StoreAbilities = StoreAbilities(), recordingChangesIn records: (any UploadRecords)? = nil,
        clock: @escaping @Sendable () -> Int64 = monotonicNanoseconds
    ) throws(Failure) {
        (self.medium, self.durability, self.abilities, changeRecords) = (medium, durability, abilities, records)
        let isNew = medium.state.withLock { state -> Bool? in
            guard !state.isServed else { return nil }
            defer { (state.isServed, state.wasServed, state.rules) = (true, true, MemoryRules()) }
            return !state.wasServed
        }
        guard let isNew else { throw Failure(.busy, "Another server is already storing in this memory.") }
        self.isNew = isNew
        let makers = RoomMakers()
        makesRoom = makers
        space = limits == SpaceLimits() ? nil : MemorySpace(limits, of: medium, makers, clock)
    }

    deinit { unlock() }

    package func unlock() { medium.state.withLock { $0.isServed = false } }

    func with<T>(_ body: (inout MemoryMedium.State) throws(Failure) -> T) throws(Failure) -> T {
        try medium.state.withLock { (state) throws(Failure) in
            defer { state.tree.end() }
            return try body(&state)
        }
    }

    func read<T>(_ body: (MemoryTree) -> T) -> T { medium.state.withLock { body($0.tree) } }
}

// MARK: Room

/// Holds the closure that makes room when a store has too little.
final class RoomMakers: Sendable {
    private let body = Locked<(@Sendable (RoomNeed) -> Bool)?>(nil)

    func set(_ body: @escaping @Sendable (RoomNeed) -> Bool) { self.body.withLock { $0 = body } }

    func makeRoom(_ need: RoomNeed) -> Bool { body.withLock { $0 }?(need) ?? false }
}

/// The limits on how much may be stored in memory.
final class MemorySpace: LimitedSpace {
    let quota: Quota?
    private let limits: Locked<SpaceLimits>
    private let medium: MemoryMedium

    init(
        _ limits: SpaceLimits, of medium: MemoryMedium, _ makers: RoomMakers, _ clock: @escaping @Sendable () -> Int64
    ) {
        self.limits = Locked(limits)
        self.medium = medium
        quota = limits.quota.map { limit in Quota(ofStore: limit, clock: clock) { _ in medium.count } }
        quota?.givesWay { makers.makeRoom(.stored($0)) }
        quota?.countOnce()
    }

    func check() throws(Failure) {
        guard let least = limits.withLock({ $0.minimumFree }) else { return }
        let free = medium.free
        guard free < least else { return }
        throw .tooLittleFree(free, least: least)
    }

    func change(_ wanted: SpaceLimits) -> SpaceLimits {
        limits.withLock { limits in
            limits.change(to: wanted)
            if let limit = limits.quota { quota?.change(limit: limit) }
            return limits
        }
    }
}

extension MemoryMedium {
    /// The number of bytes that there is still room for.
    fileprivate var free: UInt64 {
        let count = count
        let used = (count.parts ?? [:]).values.reduce(count.stored) { $0.addingClamped($1) }
        return Self.capacity - min(Self.capacity, used)
    }

    /// - Throws: `insufficientStorage` if even an empty medium has no room for this size.
    static func check(_ size: UInt64) throws(Failure) {
        guard size <= capacity else {
            throw Failure(.insufficientStorage, "There is no room for \(size) bytes: the server's memory is too small.")
        }
    }

    fileprivate var count: Quota.Count {
        state.withLock { state in
            var stored: UInt64 = 0
            var seen: Set<UInt64> = []
            for folder in [nil, RelativePath.trashFolder, .mailFolder] {
                state.tree.forEachFile(below: folder) { _, node in
                    if seen.insert(node.number).inserted { stored = stored.addingClamped(node.version.size) }
                }
            }
            return Quota.Count(stored: stored, parts: state.parts.mapValues(\.size))
        }
    }
}

extension MemoryStore {
    package var room: StoreRoom? { StoreRoom(free: medium.free, total: MemoryMedium.capacity) }
    package var quota: (used: UInt64, limit: UInt64)? { space?.quota.map { ($0.used, $0.currentLimit) } }
    package var syncDurations: DurationHistogram? { nil }

    package func change(_ limits: SpaceLimits) -> SpaceLimits { space?.change(limits) ?? SpaceLimits() }

    package func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) { makesRoom.set(body) }

    package func checkRoom() throws(Failure) { try space?.check() }
}

// MARK: Stored files

extension MemoryStore {
    package func version(at path: RelativePath) -> ContentVersion? { read { $0.node(at: path)?.fileVersion } }

    package func versions(at paths: [RelativePath]) -> [ContentVersion?] {
        read { tree in paths.map { tree.node(at: $0)?.fileVersion } }
    }

    package func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        read { tree in
            names.map { name in
                RelativePath.child(name, of: folder).flatMap { tree.node(at: $0)?.fileVersion }
            }
        }
    }

    /// Always false: a replaced file gets its other name at the moment when it is replaced.
    package func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool { false }

    package func exists(_ path: RelativePath) -> Bool { read { $0.node(at: path) != nil } }

    package func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        read { tree in
            var (missing, next): ([RelativePath], RelativePath?) = ([], folder)
            while let folder = next, folder != top, tree.node(at: folder)?.isFolder != true {
                missing.append(folder)
                next = folder.parent
            }
            return missing
        }
    }

    package func admit(
        _ path: RelativePath, size: UInt64?, conflict: ConflictPolicy
    ) throws(Failure) -> PublicationOutcome? {
        let found = try with { (state) throws(Failure) in
            try state.tree.checkFolders(above: path)
            return state.tree.node(at: path)
        }
        guard let node = found else { return nil }
        switch conflict {
        case .skip: return .skipped
        case .keepBoth: return nil
        case .overwrite, .fail:
            guard !node.isFolder else { throw .isDirectory(path) }
            guard conflict == .fail, let size, size != node.version.size else { return nil }
            throw .isTaken(path)
        }
    }

    package func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> MemoryStaged {
        try MemoryMedium.check(size ?? 0)
        try checkRoom()
        let staged = MemoryStaged(MemoryPart(clock: medium.clock), of: self, hold: SpaceHold(space, client: quota))
        if let size { try staged.hold?.grow(to: size) }
        return staged
    }
}

// MARK: Mail

extension MemoryStore {
    package func removeMail(_ paths: [RelativePath]) {
        for path in paths where RelativePath(mail: path.string) != nil {
            let freed = medium.state.withLock { state -> UInt64? in
                guard let node = state.tree.node(at: path), node.bytes != nil else { return nil }
                state.tree.take(path)
                return node.freed
            }
            if let freed { space?.quota?.removed(freed) }
        }
    }

    package func mailFiles() -> [RelativePath] {
        read { tree in
            guard let folder = tree.node(at: .mailFolder) else { return [] }
            return tree.names(in: folder).compactMap { name, _ in
                RelativePath(mail: "\(RelativePath.mailFolder.string)/\(name)")
            }
        }
    }
}
