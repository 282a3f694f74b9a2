import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The uploads that were acknowledged: the last ones in memory, all of them in the catalog, which also says what is
/// unfinished. An upload does not fail because the catalog does; the log tells.
package final class KnownUploads: Sendable {
    /// What the log was not told yet.
    private struct Trouble {
        /// Uploads that were acknowledged and not recorded since the log was last told that all is well.
        var unrecorded = 0
        /// Whether the log was told of a failure and of no end of it.
        var isOpen = false
        /// When the log may be told again, in nanoseconds of the monotonic clock.
        var nextLine: Int64 = 0
    }

    /// Ids learnt at once.
    private static let loadStep = 1024

    /// Nanoseconds between two lines about a catalog that fails: each upload would write one.
    private static let logInterval: Int64 = 60_000_000_000

    /// Nanoseconds between two attempts to learn what the catalog knows: each may read all of it.
    static let loadInterval: Int64 = 60_000_000_000

    /// Nanoseconds between two questions that have it index what was recorded.
    static let indexInterval: Int64 = 1_000_000_000

    let records: any UploadRecords
    let recent = RecentResults()
    let filter: UploadFilter
    /// Whether other servers record uploads as well, so that the filter does not know all.
    private let isShared: Bool
    private let unfinished = UnfinishedUploads()
    /// Held while something is said of unfinished uploads, so that what was said last counts.
    private let tellingUnfinished = Locked(())
    /// What this server has changed, and the catalog could not be told.
    let untold = Locked(Untold())
    let recentChanges = RecentChanges()
    let recentKeeps = RecentKeeps()
    let unresolved = Locked(UnresolvedChanges())
    let clock: IntakeClock
    private let report: @Sendable (IntakeEvent) -> Void
    private let trouble = Locked(Trouble())
    /// When it may index for a question again, in nanoseconds of the monotonic clock.
    private let nextIndexing = Locked(Int64.min)
    /// Whether the catalog had marks of rotten files when it was last asked.
    let hadRotten = Atomic(true)
    /// Whether it is known what the catalog had of unfinished uploads at the start.
    private let knowsUnfinished = Atomic(false)
    /// When `load`, which has failed, is to be called again, in nanoseconds of the monotonic clock; `max` where it has not failed.
    private let nextLoading = Atomic(Int64.max)

    init(
        _ records: any UploadRecords, isShared: Bool, clock: IntakeClock,
        report: @escaping @Sendable (IntakeEvent) -> Void
    ) {
        (self.records, self.isShared) = (records, isShared)
        (self.clock, self.report) = (clock, report)
        filter = UploadFilter(catalogCount: records.wasEmpty ? 0 : try? records.count())
    }

    /// UTC, in nanoseconds since 1970.
    var now: Int64 { clock.utc() }

    /// Learns what is unfinished, and which ids the catalog knows; until then every one that isn't among the last is looked up. Where the
    /// catalog cannot be read, `claimLoading` says when to try again.
    package func load() {
        do throws(RecordsError) {
            if !knowsUnfinished.load(ordering: .relaxed) {
                unfinished.add(try records.unfinished())
                knowsUnfinished.store(true, ordering: .relaxed)
            }
            if !isShared, !filter.isLoaded { try learnIDs() }
        } catch {
            complain(error, unrecorded: 0)
            let next = clock.monotonic().addingReportingOverflow(Self.loadInterval).partialValue
            nextLoading.store(next, ordering: .relaxed)
        }
    }

    private func learnIDs() throws(RecordsError) {
        var ids: [UploadID] = []
        try records.forEachEntry { entry in
            ids.append(entry.id)
            guard ids.count == Self.loadStep else { return }
            filter.add(ids)
            ids.removeAll(keepingCapacity: true)
        }
        filter.add(ids)
        filter.loaded()
    }

    /// Claims the right to call `load` again.
    ///
    /// - Returns: whether it has failed and `loadInterval` has passed since; true for one thread only.
    func claimLoading() -> Bool {
        let due = nextLoading.load(ordering: .relaxed)
        guard due < .max, clock.monotonic() >= due else { return false }
        return nextLoading.compareExchange(expected: due, desired: .max, ordering: .relaxed).exchanged
    }

    /// - Returns: nothing for an id that has no acknowledgement, or whose is forgotten.
    package func entry(for id: UploadID) -> CatalogEntry? {
        if let entry = recent.find(id) { return entry }
        guard mayBeRecorded(id) else { return nil }
        return recorded([id]).first ?? nil
    }

    /// The same for many at once, in their order.
    func entries(for ids: [UploadID]) -> [CatalogEntry?] {
        var found = ids.map(recent.find)
        let others = found.indices.filter { found[$0] == nil && mayBeRecorded(ids[$0]) }
        guard !others.isEmpty else { return found }
        for (index, entry) in zip(others, recorded(others.map { ids[$0] })) { found[index] = entry }
        return found
    }

    /// Whether the catalog has to be asked for an upload.
    private func mayBeRecorded(_ id: UploadID) -> Bool { isShared || filter.mayContain(id) }

    private func recorded(_ ids: [UploadID]) -> [CatalogEntry?] {
        // Taken before, so that what is told meanwhile is not missed.
        let untold = untold.withLock { $0 }
        do throws(RecordsError) {
            return try records.entries(for: ids).map { $0.map(untold.amended) }
        } catch {
            complain(error, unrecorded: 0)
            return []
        }
    }

    /// Remembers uploads that are published, before they are acknowledged.
    ///
    /// - Parameters:
    ///   - receipts: that entries have the numbers of.
    ///   - marked: `marks(of:)` before they were published.
    /// - Returns: whether the catalog has them. Where it could not be told, only this process knows them.
    @discardableResult
    func record(
        _ entries: [CatalogEntry], with receipts: SignedBatch? = nil, marked: [ContentVersion] = []
    ) -> Bool {
        guard !entries.isEmpty else { return true }
        remember(entries)
        do throws(RecordsError) {
            let hasRotten = try records.record(entries, with: receipts)
            rejoice()
            hadRotten.store(hasRotten, ordering: .relaxed)
            if hasRotten { try records.removeRotten(entries.compactMap { $0.soundVersion(marked) }) }
            return true
        } catch {
            complain(error, unrecorded: entries.count)
            return false
        }
    }

    /// Those of some files that are known to be rotten, before they are read. A mark that the catalog has got from another process may be
    /// missing.
    func marks(of files: () -> [ContentVersion?]) -> [ContentVersion] {
        guard hadRotten.load(ordering: .relaxed) else { return [] }
        return files().compactMap { $0 }.filter(isRotten)
    }

    /// Remembers uploads in memory alone.
    func remember(_ entries: [CatalogEntry]) {
        recent.add(entries)
        filter.add(entries.lazy.map(\.id))
        unfinished.end(entries.lazy.map(\.id))
    }

    /// What was signed together with one receipt.
    ///
    /// - Returns: nothing unless all of it is known still.
    func signed(with number: UInt64) -> SignedEntries? {
        do throws(RecordsError) {
            guard let kept = try records.receipts(with: number) else { return nil }
            var entries: [CatalogEntry] = []
            for (offset, id) in kept.uploads.enumerated() {
                // Wraps as it did when they were given: a damaged catalog may say any number.
                let number = kept.signedBatch.number &+ UInt64(offset)
                guard let entry = entry(for: id), entry.receipt == number else { return nil }
                entries.append(entry)
            }
            return SignedEntries(signedBatch: kept.signedBatch, entries: entries)
        } catch {
            complain(error, unrecorded: 0)
            return nil
        }
    }

    /// Has the catalog index what was recorded, while no client waits for it; tells it first what it could not be told, and learns what could
    /// not be learnt at the start.
    package func index() {
        _ = tellUntold()
        if claimLoading() { load() }
        do throws(RecordsError) {
            try records.index()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Forgets what was acknowledged of files that are gone.
    package func forget(_ files: [KnownChanges.Replaced]) {
        var changes = KnownChanges()
        changes.replaced = files
        do throws(RecordsError) {
            try records.complete(.none, changes)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// What was acknowledged under each of these paths, the newest of it, as far as it is indexed.
    package func entries(at paths: [String]) -> [[CatalogEntry]] {
        do throws(RecordsError) {
            return try records.entries(at: paths)
        } catch {
            complain(error, unrecorded: 0)
            return paths.map { _ in [] }
        }
    }

    /// Some of what was acknowledged for the files in one folder, as far as it is indexed.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) -> KnownFiles {
        do throws(RecordsError) {
            return try records.files(query, after: start)
        } catch {
            complain(error, unrecorded: 0)
            return KnownFiles()
        }
    }

    /// Makes all that was recorded known to `files`, unless that was done a moment ago: whoever can have it done must not have a
    /// sync for every question.
    ///
    /// - Returns: whether there is anything new.
    func indexNowAndThen() -> Bool {
        guard records.hasUnindexed else { return false }
        let now = clock.monotonic()
        let mayGoOn = nextIndexing.withLock { next in
            guard now >= next else { return false }
            next = now.addingReportingOverflow(Self.indexInterval).partialValue
            return true
        }
        if mayGoOn { index() }
        return mayGoOn
    }

    /// Makes all that was recorded known to `entries(at:)` and `files`.
    package func indexIfNeeded() {
        if records.hasUnindexed { index() }
    }

    /// The server is over.
    package func close() {
        // Whoever was asked to, later, finds nothing to write, and does not open the catalog again.
        recordUnfinished()
        _ = tellUntold()
        do throws(RecordsError) {
            try records.close()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Calls `body` with all that the catalog knows of one client, in the order of paths.
    ///
    /// - Returns: false where that cannot be read.
    func forEachEntryByPath(from caller: KnownCaller, _ body: (CatalogEntry) -> Void) -> Bool {
        do throws(RecordsError) {
            try records.forEachEntryByPath { if caller.hasSent($0) { body($0) } }
            return true
        } catch {
            complain(error, unrecorded: 0)
            return false
        }
    }

    /// - Returns: how many the catalog knows.
    package func count() throws(RecordsError) -> Int { try records.count() }

    /// What the catalog knows, in each state; nothing when it cannot be read.
    package func totals() -> [CatalogEntry.State: CatalogTotals]? { try? records.totals() }

    /// Above all numbers of receipts that were given; 0 where nobody knows, and only the clock can tell.
    var receiptNumber: UInt64 {
        do throws(RecordsError) {
            return try records.receiptNumber
        } catch {
            complain(error, unrecorded: 0)
            return 0
        }
    }

    func keep(receiptNumber: UInt64) {
        do throws(RecordsError) {
            try records.keep(receiptNumber: receiptNumber)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    func complain(_ error: RecordsError, unrecorded: Int) {
        let now = clock.monotonic()
        let total = trouble.withLock { trouble -> Int? in
            trouble.unrecorded += unrecorded
            guard now >= trouble.nextLine else { return nil }
            trouble.isOpen = true
            trouble.nextLine = now.addingReportingOverflow(Self.logInterval).partialValue
            return trouble.unrecorded
        }
        if let total { report(.catalogFailed(error, unrecorded: total)) }
    }

    private func rejoice() {
        let total = trouble.withLock { trouble -> Int? in
            guard trouble.isOpen else { return nil }
            defer { trouble = Trouble(nextLine: trouble.nextLine) }
            return trouble.unrecorded
        }
        if let total { report(.catalogWorks(unrecorded: total)) }
    }
}

// MARK: Unfinished ones

extension KnownUploads {
    /// Work on an upload in parts begins.
    ///
    /// - Returns: whether somebody has to call `recordUnfinished`, some time.
    func begin(_ upload: UnfinishedUpload) -> Bool { unfinished.begin(upload) }

    /// Where one more upload of a client goes.
    func place(for caller: Caller) -> UnfinishedUploads.Place {
        unfinished.place(for: UnfinishedUploads.Holder(client: caller.id, sender: caller.sender))
    }

    /// - Returns: nothing for an upload that has not begun, or is over.
    func unfinished(_ id: UploadID) -> UnfinishedUpload? { unfinished.find(id) }

    /// What one client has begun.
    func unfinished(of caller: KnownCaller) -> [UnfinishedUpload] { unfinished.all.filter(caller.hasBegun) }

    /// Writes down what has begun.
    package func recordUnfinished() {
        tell { unfinished.takeWaiting() }
    }

    /// Forgets unfinished uploads that nothing is left of.
    ///
    /// - Parameters:
    ///   - ids: which; nothing for all.
    ///   - isThere: whether somebody can go on with an upload.
    func forgetUnfinished(_ ids: [UploadID]? = nil, unless isThere: (UploadID) -> Bool) {
        tell(forgetting: { unfinished.remove(ids, unless: isThere) })
    }

    private func tell(_ begun: () -> [UnfinishedUpload] = { [] }, forgetting given: () -> [UploadID] = { [] }) {
        tellingUnfinished.withLock { _ in
            let uploads = begun()
            do throws(RecordsError) {
                try records.recordUnfinished(uploads, forgetting: given())
            } catch {
                unfinished.putBack(uploads)
                complain(error, unrecorded: 0)
            }
        }
    }
}

/// Whose a stored file is.
extension KnownUploads {
    /// Whether it was this client that stored the file. That it has sent the same content later makes nobody its owner; and
    /// somebody else may have written to it, or have got the number of one that is gone.
    package func hasStored(_ caller: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        guard let id = caller.id else { return false }
        return storing(path, file)?.client == id
    }

    /// Whether the catalog says that another client stored the file. Of one that it does not know nobody says so: it may be the client's
    /// own, published by a server that died before it could record that.
    func isOfAnother(than caller: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        storing(path, file).map { caller.id == nil || $0.client != caller.id } ?? false
    }

    /// - Returns: nil if the catalog does not know the file as it is.
    private func storing(_ path: RelativePath, _ file: ContentVersion) -> CatalogEntry? {
        indexIfNeeded()
        return stored(at: path.string).last { $0.version?.hasSameContent(as: file) ?? false }
    }

    /// Uploads that have stored a file under a path, the newest last, as far as they are indexed.
    private func stored(at path: String) -> [CatalogEntry] {
        do throws(RecordsError) {
            return try records.stored(at: path).sorted { $0.committed < $1.committed }
        } catch {
            complain(error, unrecorded: 0)
            return []
        }
    }
}

/// Records what is published and not acknowledged so far. Other changes of this server may have reached the files meanwhile: their
/// entries are recorded as these have left them.
struct PublishedRecording {
    let known: KnownUploads
    let store: any ContentStore

    /// - Parameters:
    ///   - receipts: that entries have the numbers of.
    ///   - moment: `RecentChanges.moment` before they were published.
    ///   - marked: `KnownUploads.marks(of:)` before they were published.
    func record(
        _ entries: [CatalogEntry], with receipts: SignedBatch?, since moment: Int, marked: [ContentVersion]
    ) {
        let isRecorded = known.record(entries, with: receipts, marked: marked)
        var changes = keeps(of: entries)
        guard known.recentChanges.moment != moment || !changes.isEmpty else { return }
        for entry in entries { add(changesOf: entry, since: moment, to: &changes) }
        guard !changes.isEmpty else { return }
        known.complete(.none, changes)
        // The catalog has no rows that it could have changed.
        if !isRecorded { known.recent.add(entries.compactMap { $0.restamped(by: changes) }) }
    }

    /// Entries whose files have given way to others since they were published.
    private func keeps(of entries: [CatalogEntry]) -> KnownChanges {
        let files = entries.compactMap { entry in entry.version.map { (path: entry.path, version: $0) } }
        let places = known.recentKeeps.places(of: files.map { ($0.path, $0.version.object) })
        var changes = KnownChanges()
        for (file, place) in zip(files, places) {
            guard let place, let batch = TrashBatch(of: place), let now = store.version(at: place),
                now.object == file.version.object, !hasPath(file.version, file.path)
            else { continue }
            let version = KeptFile.Versions(before: file.version, after: now)
            changes.add(KnownChanges(KeptFile(place: place, in: batch, version: version), version, of: file.path))
        }
        return changes
    }

    /// Whether a file has its path still, or again: by another name of it that was moved there.
    private func hasPath(_ file: ContentVersion, _ path: String) -> Bool {
        RelativePath(stored: path).flatMap(store.version)?.object == file.object
    }

    private func add(changesOf entry: CatalogEntry, since moment: Int, to changes: inout KnownChanges) {
        guard let published = entry.version, let path = RelativePath(stored: entry.path),
            let course = known.recentChanges.course(of: path, since: moment)
        else { return }
        let found = store.version(at: path)
        let (place, now) =
            found?.object == published.object ? (path, found) : (course.place, store.version(at: course.place))
        guard let now, now.object == published.object else {
            changes.replaced.append(.init(entry.path, by: found?.object, at: entry.committed))
            return
        }
        let isKnown = now.hasContent(of: published, orSetTo: course.revisions)
        for link in course.links {
            guard isKnown, let other = store.version(at: link), other.object == now.object else { continue }
            changes.links.append(
                PathLink(entry.path, as: link.string, before: published, after: other, at: entry.committed))
        }
        if place != path {
            changes.moves.append(PathMove(entry.path, to: place.string, object: published.object, at: .min))
        }
        if isKnown, now != published {
            changes.versions.append(VersionChange(path: place.string, before: published, after: now))
        }
    }
}
