import Synchronization
package import TransferModel
package import TransferPorts
import TransferSystem

/// The uploads that were acknowledged: the last ones in memory, all of them in the catalog, together with the
/// unfinished ones. If the catalog fails, uploads do not fail; the failure is reported to the log.
package final class KnownUploads: Sendable {
    /// What the log has still to report of a failing catalog, and when it may.
    private struct Trouble {
        /// Uploads that were acknowledged without a record since the log last said that the catalog works.
        var unrecorded = 0
        /// Whether the log has reported a failure and not its end.
        var isOpen = false
        /// When the log may be written to again, in nanoseconds of the monotonic clock.
        var nextLine: Int64 = 0
    }

    /// The number of ids that are added to the filter at once.
    private static let loadStep = 1024

    /// Nanoseconds between two log lines about a failing catalog; otherwise each upload would write one.
    private static let logInterval: Int64 = 60_000_000_000

    /// Nanoseconds between two calls of `load`; each may read the whole catalog.
    static let loadInterval: Int64 = 60_000_000_000

    /// Nanoseconds between two times that a lookup makes the catalog index.
    static let indexInterval: Int64 = 1_000_000_000

    let records: any UploadRecords
    let recent = RecentResults()
    let filter: UploadFilter
    /// Whether other servers record uploads as well, so that the filter does not know all ids.
    let isShared: Bool
    private let unfinished = UnfinishedUploads()
    /// Held while unfinished uploads are recorded, so that the newest state is written last.
    private let tellingUnfinished = Locked(())
    /// Changes that this server has made and that the catalog could not record.
    let untold = Locked(Untold())
    let recentChanges = RecentChanges()
    let recentKeeps = RecentKeeps()
    let unresolved = Locked(UnresolvedChanges())
    let clock: IntakeClock
    private let report: @Sendable (IntakeEvent) -> Void
    private let trouble = Locked(Trouble())
    /// When a lookup may make the catalog index again, in nanoseconds of the monotonic clock.
    private let nextIndexing = Locked(Int64.min)
    /// Whether the catalog had marks of rotten files when it was last read.
    let hadRotten = Atomic(true)
    /// Whether the unfinished uploads that the catalog had at the start are loaded.
    private let knowsUnfinished = Atomic(false)
    /// When `load` has to be called again after a failure, in nanoseconds of the monotonic clock; `max` if it has not
    /// failed.
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

    /// Loads the unfinished uploads and the ids of the catalog. Until then every id that is not in memory is looked up.
    /// If the catalog cannot be read, `claimLoading` says when to try again.
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
    /// - Returns: whether `load` has failed and `loadInterval` has passed since; of all threads, only one gets true.
    func claimLoading() -> Bool {
        let due = nextLoading.load(ordering: .relaxed)
        guard due < .max, clock.monotonic() >= due else { return false }
        return nextLoading.compareExchange(expected: due, desired: .max, ordering: .relaxed).exchanged
    }

    /// - Returns: nil for an id without an acknowledgement, or whose acknowledgement is forgotten.
    package func entry(for id: UploadID) -> CatalogEntry? {
        if let entry = remembered(id) { return entry }
        guard mayBeRecorded(id) else { return nil }
        return recorded([id]).first ?? nil
    }

    /// The entries of many ids at once, in their order.
    package func entries(for ids: [UploadID]) -> [CatalogEntry?] {
        var found = ids.map(remembered)
        let others = found.indices.filter { found[$0] == nil && mayBeRecorded(ids[$0]) }
        guard !others.isEmpty else { return found }
        for (index, entry) in zip(others, recorded(others.map { ids[$0] })) { found[index] = entry }
        return found
    }

    /// The entries of uploads that will be published at these paths unless they are known.
    ///
    /// - Returns: the entries in the order of the ids, and what the records have seen at the paths.
    func entries(
        for ids: [UploadID], publishingAt paths: [RelativePath]
    ) -> (entries: [CatalogEntry?], seen: (any SeenPaths)?) {
        guard isShared else { return (entries(for: ids), nil) }
        var seen: (any SeenPaths)?
        let entries = recorded { () throws(RecordsError) in
            let found = try records.entries(for: ids, publishingAt: paths)
            seen = found.seen
            return found.entries
        }
        return (entries, seen)
    }

    /// A recent entry; nil if other servers may have changed its file since.
    private func remembered(_ id: UploadID) -> CatalogEntry? { isShared ? nil : recent.find(id) }

    /// Whether an upload has to be looked up in the catalog.
    private func mayBeRecorded(_ id: UploadID) -> Bool { isShared || filter.mayContain(id) }

    private func recorded(_ ids: [UploadID]) -> [CatalogEntry?] {
        recorded { () throws(RecordsError) in try records.entries(for: ids) }
    }

    private func recorded(_ find: () throws(RecordsError) -> [CatalogEntry?]) -> [CatalogEntry?] {
        // The unrecorded changes are copied before the catalog is read, so that one that is recorded meanwhile is not
        // missed.
        let untold = untold.withLock { $0 }
        do throws(RecordsError) {
            return try find().map { $0.map(untold.amended) }
        } catch {
            complain(error, unrecorded: 0)
            return []
        }
    }

    /// Records published uploads, before they are acknowledged.
    ///
    /// - Parameters:
    ///   - receipts: the batch of receipts whose numbers the entries have.
    ///   - marked: the result of `marks(of:)` before they were published.
    /// - Returns: whether the catalog has recorded them. If not, only this process knows them.
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

    /// The files that are known to be rotten, before they are read. A mark that another process has just added may be
    /// missing.
    func marks(of files: () -> [ContentVersion?]) -> [ContentVersion] {
        guard hadRotten.load(ordering: .relaxed) else { return [] }
        return files().compactMap { $0 }.filter(isRotten)
    }

    /// Remembers uploads in memory only.
    func remember(_ entries: [CatalogEntry]) {
        recent.add(entries)
        filter.add(entries.lazy.map(\.id))
        unfinished.end(entries.lazy.map(\.id))
    }

    /// The uploads whose receipts share a signature with one receipt.
    ///
    /// - Returns: nil unless all of these uploads are still known.
    func signed(with number: UInt64) -> SignedEntries? {
        do throws(RecordsError) {
            guard let kept = try records.receipts(with: number) else { return nil }
            var entries: [CatalogEntry] = []
            for (offset, id) in kept.uploads.enumerated() {
                // Wraps as it did when the receipts were issued: a damaged catalog may have any number.
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

    /// Makes the catalog index what was recorded; called while no client waits. First it records the changes that it
    /// could not record before, and loads what could not be loaded at the start.
    package func index() {
        _ = tellUntold()
        if claimLoading() { load() }
        do throws(RecordsError) {
            try records.index()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Forgets the acknowledged uploads of files that are gone.
    package func forget(_ files: [KnownChanges.Replaced]) {
        var changes = KnownChanges()
        changes.replaced = files
        do throws(RecordsError) {
            try records.complete(.none, changes)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// The newest entries of each path, as far as they are indexed.
    package func entries(at paths: [String]) -> [[CatalogEntry]] {
        do throws(RecordsError) {
            return try records.entries(at: paths)
        } catch {
            complain(error, unrecorded: 0)
            return paths.map { _ in [] }
        }
    }

    /// Some of the entries for the files in one folder, as far as they are indexed.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) -> KnownFiles {
        do throws(RecordsError) {
            return try records.files(query, after: start)
        } catch {
            complain(error, unrecorded: 0)
            return KnownFiles()
        }
    }

    /// Makes all recorded uploads available to `files`, unless that was done a moment ago: indexing can cost a sync,
    /// and clients must not be able to cause one with every question.
    ///
    /// - Returns: whether anything was indexed.
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

    /// Makes all recorded uploads available to `entries(at:)` and `files`.
    package func indexIfNeeded() {
        if records.hasUnindexed { index() }
    }

    /// Writes what is not recorded yet and closes the records, when the server ends.
    package func close() {
        // If a closure is scheduled to record the unfinished uploads, it then finds nothing to write, and does not open
        // the catalog again.
        recordUnfinished()
        _ = tellUntold()
        do throws(RecordsError) {
            try records.close()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// - Returns: the number of uploads in the catalog.
    package func count() throws(RecordsError) -> Int { try records.count() }

    /// The number and size of uploads in each state; nil if the catalog cannot be read.
    package func totals() -> [CatalogEntry.State: CatalogTotals]? { try? records.totals() }

    /// A number above the numbers of all receipts that were issued; 0 if the catalog cannot be read, so that only the
    /// clock can provide one.
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

// MARK: Unfinished uploads

extension KnownUploads {
    /// Notes that work on a multipart upload begins.
    ///
    /// - Returns: whether the caller has to arrange for a call of `recordUnfinished`.
    func begin(_ upload: UnfinishedUpload) -> Bool { unfinished.begin(upload) }

    /// The place of one more unfinished upload of a client.
    func place(for caller: Caller) -> UnfinishedUploads.Place {
        unfinished.place(for: UnfinishedUploads.Holder(client: caller.id, sender: caller.sender))
    }

    /// - Returns: nil for an upload that has not begun, or is over.
    func unfinished(_ id: UploadID) -> UnfinishedUpload? { unfinished.find(id) }

    /// The unfinished uploads of one client, as far as this server knows them.
    func unfinished(of caller: KnownCaller) -> [UnfinishedUpload] { unfinished.all.filter(caller.hasBegun) }

    /// The unfinished uploads of one client at any server.
    func unfinishedAnywhere(of caller: KnownCaller) throws(RecordsError) -> [UnfinishedUpload] {
        let own = unfinished(of: caller)
        return isShared ? own + (try records.unfinished().filter(caller.hasBegun)) : own
    }

    /// Records the unfinished uploads that the catalog does not have yet.
    package func recordUnfinished() {
        tell { unfinished.takeWaiting() }
    }

    /// Forgets unfinished uploads whose parts are gone.
    ///
    /// - Parameters:
    ///   - ids: the uploads to look at; nil for all.
    ///   - isThere: whether an upload can be resumed.
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

/// Which client has stored a file.
extension KnownUploads {
    /// Whether the file was stored by this client. A client that has sent the same content later does not own the file.
    /// A file that another program has written to, or that has the object number of a removed one, is not the client's.
    package func hasStored(_ caller: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        guard let id = caller.id else { return false }
        return storing(path, file)?.client == id
    }

    /// Whether the catalog says that another client has stored the file. A file that the catalog does not know may be
    /// the client's own, published by a server that died before it could record that.
    func isOfAnother(than caller: Caller, _ path: RelativePath, _ file: ContentVersion) -> Bool {
        storing(path, file).map { caller.id == nil || $0.client != caller.id } ?? false
    }

    /// - Returns: nil if the catalog does not know this version of the file.
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

/// Records uploads that are published and not acknowledged yet. If other changes of this server have affected their
/// files meanwhile, the entries are recorded with these changes.
struct PublishedRecording {
    let known: KnownUploads
    let store: any ContentStore

    /// - Parameters:
    ///   - receipts: the batch of receipts whose numbers the entries have.
    ///   - moments: for each entry `RecentChanges.moment` before its file was published. Earlier changes concern other
    ///     files that had the same path before, and are ignored.
    ///   - marked: `KnownUploads.marks(of:)` before they were published.
    func record(
        _ entries: [CatalogEntry], with receipts: SignedBatch?, since moments: [Int], marked: [ContentVersion]
    ) {
        let isRecorded = known.record(entries, with: receipts, marked: marked)
        var changes = keeps(of: entries)
        let now = known.recentChanges.moment
        guard moments.contains(where: { $0 != now }) || !changes.isEmpty else { return }
        for (entry, moment) in zip(entries, moments) { add(changesOf: entry, since: moment, to: &changes) }
        guard !changes.isEmpty else { return }
        known.complete(.none, changes)
        // The catalog has no rows of these entries that it could change, so the entries in memory are replaced.
        if !isRecorded { known.recent.add(entries.compactMap { $0.restamped(by: changes) }) }
    }

    /// The changes of entries whose files were replaced after their publication.
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

    /// Whether the file is at its path, or is there again because another of the file's names was moved there.
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
