package import TransferModel
package import TransferObjects
package import TransferPorts
package import TransferSystem

/// A store for any number of servers: content in objects of a bucket, names in a database. Safe to use from any thread.
///
/// What is acknowledged is in the bucket and committed in the database; nothing of it is on the servers. An object is
/// stored first, and only a commit gives it a meaning, so a server that dies or sleeps in between leaves nothing but an
/// object that no row refers to, which the sweeper deletes a day later.
package final class ClusterStore: ServerStore {
    /// What a cluster store is made of, and how it behaves.
    package struct Configuration: Sendable {
        /// The name of this server, for operators.
        package var server: String

        /// Bytes that all content may have together; nil for no limit.
        package var quota: UInt64?

        /// Identifies the cluster for clients.
        package var identity: [UInt8]?

        /// Whether the operator takes what both engines acknowledge for durable.
        package var durability = Durability.commit

        /// UTC, in nanoseconds since 1970.
        package var utc: @Sendable () -> Int64 = utcNanoseconds

        /// Nanoseconds of a clock that is never set.
        package var monotonic: @Sendable () -> Int64 = monotonicNanoseconds

        /// 64 random bits with each call, for numbers that no other server gives out.
        package var random: @Sendable () -> UInt64 = systemRandom

        package static let systemRandom: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

        package init(server: String) { self.server = server }
    }

    /// Permission bits that new files do not get, unless the publication keeps its permissions.
    static let umask: UInt16 = 0o022

    /// How often a batch is tried again when what it had looked at has changed. Each attempt means that another server
    /// has committed, so the cluster makes progress.
    static let mostAttempts = 16

    let ledger: any ClusterLedger
    let objects: ClusterObjects
    let packs: PackWriter
    let scratch: ScratchSpace
    let configuration: Configuration
    let rules = Locked(CommandRules())
    let space: ClusterSpace?
    /// The clock of unfinished uploads, which servers remove when they are too old.
    let clock: DatabaseClock
    private let staged = Locked<[UploadID: Weak<ClusterStaged>]>([:])

    package let isNew: Bool
    package var durability: Durability { configuration.durability }
    package let isInDoubt = false
    package var identity: [UInt8]? { configuration.identity }
    package let recordsChanges = true
    package let isSerial = false
    package var parts: (any PartStore)? { self }
    package var appends: (any AppendStore)? { self }
    package let rereads: (any RereadStore)? = nil

    package let abilities: StoreAbilities = {
        var abilities = StoreAbilities()
        abilities.isShared = true
        // As many as a client has on the way at a time (`Limits`): they share a pack and a transaction.
        abilities.uploadsAtOnce = PackWriter.most.files
        // A pack should have many files if they have arrived; with twice as many, a server takes more than 128 MiB. A
        // client that sends faster than the server digests gets results at least once a second.
        abilities.gathering = StoreAbilities.Gathering(
            uploads: PackWriter.most.files / 4, bytes: UInt64(PackWriter.most.bytes) / 2, time: .seconds(1))
        // A thread that waits for the bucket costs some 20 KiB; with fewer threads, a few slow requests would stop all
        // other clients.
        abilities.waitingThreads = 256
        abilities.takesPieces = false
        abilities.storesParts = true
        abilities.linksFiles = false
        return abilities
    }()

    /// - Parameter scratch: takes what has arrived and is in no object yet.
    /// - Throws: if the database cannot be read.
    package init(
        _ bucket: any ObjectStore, _ ledger: any ClusterLedger, scratch: ScratchSpace, _ configuration: Configuration
    ) throws(Failure) {
        let numbers = NodeNumbers(
            ledger, server: configuration.server, monotonic: configuration.monotonic, utc: configuration.utc,
            random: configuration.random)
        (self.ledger, self.scratch, self.configuration) = (ledger, scratch, configuration)
        objects = ClusterObjects(bucket, ledger, numbers)
        packs = PackWriter(objects)
        do throws(LedgerError) {
            isNew = try ledger.list(NodeRow.top, after: nil, limit: 1).isEmpty
            clock = try DatabaseClock(ledger, configuration.monotonic)
        } catch {
            throw Failure(ledger: error)
        }
        space = configuration.quota.map { ClusterSpace($0, of: ledger, configuration.monotonic) }
    }

    /// Other servers go on using the store; there is nothing to release.
    package func unlock() {}

    /// - Parameter seen: nodes that were looked at before.
    func view(_ seen: SeenNodes? = nil) -> TreeView {
        TreeView(ledger, objects.numbers, clock: configuration.utc, seen: seen)
    }

    /// Runs a query whose failure means that the caller finds nothing.
    func ask<T>(_ body: () throws(LedgerError) -> T) throws(Failure) -> T {
        do throws(LedgerError) { return try body() } catch { throw Failure(ledger: error) }
    }

    /// Deletes objects that no row refers to and no commit will. If this fails, the sweeper deletes them.
    func discardObjects(_ rows: [ObjectRow]) {
        for row in rows { try? objects.delete(row.number) }
    }
}

/// The database's clock as this server reads it, which does not ask the database each time: clocks of servers can differ
/// by any time.
final class DatabaseClock: Sendable {
    private let ledger: any ClusterLedger
    private let monotonic: @Sendable () -> Int64
    /// Nanoseconds by which the database's clock is ahead of the monotonic clock.
    private let lead = Locked<Int64>(0)

    /// - Parameter monotonic: nanoseconds of a clock that is never set.
    init(_ ledger: any ClusterLedger, _ monotonic: @escaping @Sendable () -> Int64) throws(LedgerError) {
        (self.ledger, self.monotonic) = (ledger, monotonic)
        try compare()
    }

    /// Asks the database for its time, because clocks drift apart.
    func compare() throws(LedgerError) {
        let now = try ledger.mailFacts([], []).now
        lead.withLock { $0 = now.subtractingReportingOverflow(monotonic()).partialValue }
    }

    /// UTC, in nanoseconds since 1970.
    var now: Int64 { monotonic().addingReportingOverflow(lead.withLock { $0 }).partialValue }
}

/// A reference that does not keep its object.
struct Weak<Object: AnyObject & Sendable>: @unchecked Sendable {
    weak var object: Object?
}

// MARK: Looking

extension ClusterStore {
    /// The node at a path; nil if the path is free.
    func node(at path: RelativePath) throws(Failure) -> NodeRow? {
        var paths = LedgerPaths()
        let index = paths.add(path)
        return try ask { () throws(LedgerError) in try ledger.look(paths)[index] }
    }

    package func version(at path: RelativePath) -> ContentVersion? { versions(at: [path])[0] }

    package func versions(at paths: [RelativePath]) -> [ContentVersion?] {
        var wanted = LedgerPaths()
        let indices = paths.map { wanted.add($0) }
        guard let found = try? ledger.look(wanted) else { return paths.map { _ in nil } }
        return indices.map { found[$0]?.fileVersion }
    }

    package func versions(of names: [String], in folder: RelativePath?) -> [ContentVersion?] {
        let paths = names.map { RelativePath.child($0, of: folder) }
        var found = versions(at: paths.compactMap(\.self))[...]
        return paths.map { $0 == nil ? nil : found.popFirst() ?? nil }
    }

    /// Always false: a replaced file gets its other name in the transaction that replaces it.
    package func isAboutToGiveWay(_ version: ContentVersion, knownAs before: ContentVersion) -> Bool { false }

    package func exists(_ path: RelativePath) -> Bool { (try? node(at: path)) != nil }

    package func missingFolders(_ folder: RelativePath?, below top: RelativePath?) -> [RelativePath] {
        var (above, next): ([RelativePath], RelativePath?) = ([], folder)
        while let folder = next, folder != top {
            above.append(folder)
            next = folder.parent
        }
        guard !above.isEmpty else { return [] }
        var wanted = LedgerPaths()
        let indices = above.map { wanted.add($0) }
        guard let found = try? ledger.look(wanted) else { return above }
        return zip(above, indices).prefix { found[$0.1]?.isFolder != true }.map(\.0)
    }

    package func admit(
        _ path: RelativePath, size: UInt64?, conflict: ConflictPolicy
    ) throws(Failure) -> PublicationOutcome? {
        // A look costs a round trip, which is more than a short upload costs altogether: the transaction that publishes
        // it looks at its path anyway.
        guard conflict == .skip || size ?? .max > UInt64(ClusterStaged.mostInPack) else { return nil }
        var view = view()
        do throws(ViewError) {
            let there = try view.looking(at: path)
            try view.checkFolders(above: path)
            guard let there else { return nil }
            switch conflict {
            case .skip: return .skipped
            case .keepBoth: return nil
            case .overwrite, .fail:
                guard !there.isFolder else { throw ViewError.failure(.isDirectory(path)) }
                guard conflict == .fail, let size, size != there.file?.size else { return nil }
                throw ViewError.failure(.isTaken(path))
            }
        } catch {
            throw error.failure
        }
    }

    package func stage(
        id: UploadID, size: UInt64?, filled: UInt64?, permissions: UInt16?, quota: Quota?
    ) throws(Failure) -> ClusterStaged {
        let staged = ClusterStaged(of: self, for: id, hold: SpaceHold(space, client: quota))
        if let size { try staged.hold?.grow(to: size) }
        return staged
    }
}

// MARK: Unfinished uploads of this server

extension ClusterStore {
    /// The place for parts of an upload that arrive at this server. All its connections share it.
    func staged(_ id: UploadID, _ make: () -> ClusterStaged) -> ClusterStaged {
        staged.withLock { staged in
            if let known = staged[id]?.object { return known }
            let new = make()
            staged[id] = Weak(object: new)
            return new
        }
    }

    func staged(_ id: UploadID) -> ClusterStaged? { staged.withLock { $0[id]?.object } }

    func forgetStaged(_ id: UploadID, _ object: ClusterStaged) {
        staged.withLock { staged in
            if staged[id]?.object === object { staged[id] = nil }
        }
    }
}

// MARK: Mail

extension ClusterStore {
    package func removeMail(_ paths: [RelativePath]) {
        for path in paths where RelativePath(mail: path.string) != nil {
            // Like a directory, the store does not say what was there.
            let freed = try? settle(isAnswer: { $0 != nil }) { (view) throws(ViewError) -> UInt64? in
                guard let node = try view.looking(at: path), let file = node.file else { return nil }
                view.remove(node)
                return file.size
            }
            if let freed = freed ?? nil { space?.quota?.removed(freed) }
        }
    }

    package func mailFiles() -> [RelativePath] {
        guard let folder = try? node(at: .mailFolder) else { return [] }
        var (paths, last): ([RelativePath], PathKey?) = ([], nil)
        while let page = try? ledger.list(folder.number, after: last, limit: 1000), !page.isEmpty {
            paths += page.compactMap { RelativePath(mail: "\(RelativePath.mailFolder.string)/\($0.name.string)") }
            last = page.last?.name
        }
        return paths
    }
}

// MARK: Room

/// The quota of a cluster. Each server counts what it stores, and counts everything again from time to time and before
/// it refuses (`Quota.init`), so that servers together may exceed the quota by what they store in some seconds.
final class ClusterSpace: LimitedSpace {
    let quota: Quota?

    init(_ limit: UInt64, of ledger: any ClusterLedger, _ clock: @escaping @Sendable () -> Int64) {
        quota = Quota(ofStore: limit, clock: clock, isShared: true) { _ in
            guard let sum = try? ledger.sum(below: [NodeRow.top]), let uploads = try? ledger.uploads() else {
                return nil
            }
            let parts = Dictionary(uploads.map { ($0.id, $0.reserved) }) { first, _ in first }
            return Quota.Count(stored: sum.bytes, parts: parts)
        }
    }

    func check() throws(Failure) {}
}

extension ClusterStore {
    package var room: StoreRoom? { nil }

    package var isReadOnly: Bool { false }

    package var quota: (used: UInt64, limit: UInt64)? { space?.quota.map { ($0.used, $0.currentLimit) } }

    package var syncDurations: DurationHistogram? { nil }

    package func change(_ limits: SpaceLimits) -> SpaceLimits {
        if let quota = space?.quota, let limit = limits.quota { quota.change(limit: limit) }
        return SpaceLimits(quota: space?.quota?.currentLimit)
    }

    package func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool) {
        space?.quota?.givesWay { body(.stored($0)) }
    }

    package func checkRoom() throws(Failure) {}
}

// MARK: Publishing

extension ClusterStore {
    package func publish(
        _ batch: [Publication], acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        publish(batch, seen: nil, acknowledged: acknowledged, mayReplace: mayReplace)
    }

    package func publish(
        _ batch: [Publication], seen: (any SeenPaths)?,
        acknowledged: @escaping (RelativePath, ContentVersion) -> Digest?,
        mayReplace: ((RelativePath, ContentVersion) throws(Failure) -> Bool)?
    ) -> PublishedBatch {
        let moment = configuration.utc()
        let contents = place(batch, at: moment)
        for publication in batch where publication.conflict == .overwrite {
            guard let sender = publication.sender else { continue }
            rules.withLock { $0.overwrites.announce(publication.path, sender.connection) }
        }
        let attempt = PublishingAttempt(
            batch, contents, at: moment, seen: seen as? SeenNodes, mayReplace: mayReplace, in: self)
        return PublishedBatch(outcomes: attempt.outcomes, settlement: attempt)
    }

    /// Stores all content of a batch in the bucket, and describes it there.
    private func place(_ batch: [Publication], at moment: Int64) -> [Result<PlacedContent, Failure>] {
        var pieces: [(index: Int, piece: PackWriter.Piece, placed: PlacedContent)] = []
        var places = [Result<PlacedContent, Failure>?](repeating: nil, count: batch.count)
        for (index, publication) in batch.enumerated() {
            guard let staged = publication.content as? ClusterStaged else {
                places[index] = .failure(Failure(.storageFailed, "The content was staged in another store."))
                continue
            }
            do throws(Failure) {
                switch try staged.place(publication, at: moment) {
                case .piece(let piece, let placed): pieces.append((index, piece, placed))
                case .placed(let placed): places[index] = .success(placed)
                }
            } catch {
                places[index] = .failure(error)
            }
        }
        for ((index, piece, placed), result) in zip(pieces, packs.store(pieces.map(\.piece))) {
            places[index] = result.map { place in
                let extent = piece.range.isEmpty ? nil : Extent(piece.range, in: place.object.number, from: place.start)
                return placed.joined(with: extent, describedIn: place.object, at: place.start, size: piece.file.size)
            }
        }
        return places.map { $0 ?? .failure(Failure(.storageFailed, "The content was not stored.")) }
    }
}
