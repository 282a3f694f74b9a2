package import TransferDatabase
import Synchronization
package import TransferCatalog
package import TransferModel
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

    /// Nanoseconds between two questions that have it settled.
    static let settleInterval: Int64 = 1_000_000_000

    let records: any UploadRecords
    let recent = RecentResults()
    private let filter: UploadFilter
    private let unfinished = UnfinishedUploads()
    /// Held while something is said of unfinished uploads, so that what was said last counts.
    private let tellingUnfinished = Locked(())
    /// What this server has changed, and the catalog could not be told.
    let untold = Locked(Untold())
    let recentChanges = RecentChanges()
    let recentKeeps = RecentKeeps()
    let unsettled = Locked(UnsettledChanges())
    let clock: IntakeClock
    private let report: @Sendable (IntakeEvent) -> Void
    private let trouble = Locked(Trouble())
    /// When it may be settled for a question again, in nanoseconds of the monotonic clock.
    private let nextSettling = Locked(Int64.min)
    /// Whether what the records knew at the start is known.
    private let isLoaded = Atomic(false)

    init(_ records: any UploadRecords, clock: IntakeClock, report: @escaping @Sendable (IntakeEvent) -> Void) {
        (self.records, self.clock, self.report) = (records, clock, report)
        filter = UploadFilter(catalogCount: records.wasEmpty ? 0 : try? records.count())
    }

    /// UTC, in nanoseconds since 1970.
    var now: Int64 { clock.utc() }

    /// Learns what is unfinished, and which ids the catalog knows; until then every one that isn't among the last is looked up.
    package func load() {
        var ids: [UploadID] = []
        do throws(DatabaseError) {
            unfinished.add(try records.unfinished())
            defer { isLoaded.store(true, ordering: .relaxed) }
            guard !records.wasEmpty else { return }
            try records.forEachEntry { entry in
                ids.append(entry.id)
                guard ids.count == Self.loadStep else { return }
                filter.add(ids)
                ids.removeAll(keepingCapacity: true)
            }
            filter.add(ids)
            filter.loaded()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// - Returns: nothing for an id that has no acknowledgement, or whose is forgotten.
    package func entry(for id: UploadID) -> CatalogEntry? {
        if let entry = recent.find(id) { return entry }
        guard filter.mayContain(id) else { return nil }
        return recorded([id]).first ?? nil
    }

    /// The same for many at once, in their order.
    func entries(for ids: [UploadID]) -> [CatalogEntry?] {
        var found = ids.map(recent.find)
        let others = found.indices.filter { found[$0] == nil && filter.mayContain(ids[$0]) }
        guard !others.isEmpty else { return found }
        for (index, entry) in zip(others, recorded(others.map { ids[$0] })) { found[index] = entry }
        return found
    }

    private func recorded(_ ids: [UploadID]) -> [CatalogEntry?] {
        do throws(DatabaseError) {
            return try records.entries(for: ids)
        } catch {
            complain(error, unrecorded: 0)
            return []
        }
    }

    /// Remembers uploads that are published, before they are acknowledged.
    ///
    /// - Parameter receipts: that entries have the numbers of.
    func record(_ entries: [CatalogEntry], with receipts: SignedBatch? = nil) {
        guard !entries.isEmpty else { return }
        recent.add(entries)
        filter.add(entries.lazy.map(\.id))
        unfinished.end(entries.lazy.map(\.id))
        do throws(DatabaseError) {
            let hasRotten = try records.record(entries, with: receipts)
            rejoice()
            // They were written or read just now. A file that the disk has lost, and that is gone, may have had the same numbers.
            if hasRotten { try records.removeRotten(entries.compactMap(\.version)) }
        } catch {
            complain(error, unrecorded: entries.count)
        }
    }

    /// What was signed together with one receipt.
    ///
    /// - Returns: nothing unless all of it is known still.
    func signed(with number: UInt64) -> SignedEntries? {
        do throws(DatabaseError) {
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

    /// Brings the catalog in order, while nobody waits for it; and learns from it what could not be learnt at the start.
    package func settle() {
        _ = tellUntold()
        if !isLoaded.load(ordering: .relaxed) { load() }
        do throws(DatabaseError) {
            try records.settle()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Forgets what was acknowledged under paths whose files are gone.
    package func forget(_ paths: [String]) {
        do throws(DatabaseError) {
            try records.remove(paths: paths)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// What was acknowledged under each of these paths, the newest of it, as far as it is settled.
    package func entries(at paths: [String]) -> [[CatalogEntry]] {
        do throws(DatabaseError) {
            return try records.entries(at: paths)
        } catch {
            complain(error, unrecorded: 0)
            return paths.map { _ in [] }
        }
    }

    /// Some of what was acknowledged for the files in one folder, as far as it is settled.
    func files(_ query: KnownFiles.Query, after start: [UInt8]) -> KnownFiles {
        do throws(DatabaseError) {
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
    func settleNowAndThen() -> Bool {
        guard records.hasUnsettled else { return false }
        let now = clock.monotonic()
        let mayGoOn = nextSettling.withLock { next in
            guard now >= next else { return false }
            next = now.addingReportingOverflow(Self.settleInterval).partialValue
            return true
        }
        if mayGoOn { settle() }
        return mayGoOn
    }

    /// Makes all that was recorded known to `entries(at:)` and `files`.
    package func settleIfNeeded() {
        if records.hasUnsettled { settle() }
    }

    /// The server is over.
    package func close() {
        // Whoever was asked to, later, finds nothing to write, and does not open the catalog again.
        recordUnfinished()
        _ = tellUntold()
        do throws(DatabaseError) {
            try records.close()
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    /// Calls `body` with all that the catalog knows of one client, in the order of paths.
    ///
    /// - Returns: false where that cannot be read.
    func forEachEntryByPath(from client: KnownCaller, _ body: (CatalogEntry) -> Void) -> Bool {
        do throws(DatabaseError) {
            try records.forEachEntryByPath { if client.hasSent($0) { body($0) } }
            return true
        } catch {
            complain(error, unrecorded: 0)
            return false
        }
    }

    /// - Returns: how many the catalog knows.
    package func count() throws(DatabaseError) -> Int { try records.count() }

    /// What the catalog knows, in each state; nothing when it cannot be read.
    package func totals() -> [CatalogEntry.State: CatalogTotals]? { try? records.totals() }

    /// Above all numbers of receipts that were given; 0 where nobody knows, and only the clock can tell.
    var receiptNumber: UInt64 {
        do throws(DatabaseError) {
            return try records.receiptNumber
        } catch {
            complain(error, unrecorded: 0)
            return 0
        }
    }

    func keep(receiptNumber: UInt64) {
        do throws(DatabaseError) {
            try records.keep(receiptNumber: receiptNumber)
        } catch {
            complain(error, unrecorded: 0)
        }
    }

    func complain(_ error: DatabaseError, unrecorded: Int) {
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
    func unfinished(of client: KnownCaller) -> [UnfinishedUpload] { unfinished.all.filter(client.hasBegun) }

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
            do throws(DatabaseError) {
                try records.recordUnfinished(uploads, forgetting: given())
            } catch {
                unfinished.putBack(uploads)
                complain(error, unrecorded: 0)
            }
        }
    }
}
