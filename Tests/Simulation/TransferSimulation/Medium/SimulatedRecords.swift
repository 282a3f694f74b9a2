import TransferDatabase
import TransferCatalog
import TransferModel
import TransferSystem

/// What a server remembers, in memory: as durable as a catalog is, and failing when it is told to.
///
/// `@unchecked Sendable`: a simulation has one thread.
final class SimulatedRecords: UploadRecords, @unchecked Sendable {
    private struct State {
        var entries: [UploadID: CatalogEntry] = [:]
        /// Ids in the order in which they came.
        var order: [UploadID] = []
        var unfinished: [UploadID: UnfinishedUpload] = [:]
        var receipts: [KeptReceipts] = []
        var rotten: [String: RottenFile] = [:]
        var receiptNumber: UInt64 = 0
    }

    /// What every program sees, and what is on disk.
    private var seen = State()
    private var certain = State()

    /// Calls that pass before one fails.
    var failsAfter: UInt32?

    private(set) var wasEmpty = true

    /// Whether a call has failed.
    private(set) var hasFailed = false

    /// As after a restart.
    func reopen() { wasEmpty = seen.entries.isEmpty }

    func cutPower() {
        seen = certain
        reopen()
    }

    private func mayFail() throws(DatabaseError) {
        guard let left = failsAfter else { return }
        failsAfter = left == 0 ? nil : left - 1
        if left == 0 {
            hasFailed = true
            throw DatabaseError(.failed, "The simulated disk failed under the catalog.")
        }
    }

    private func put(_ entry: CatalogEntry) {
        if seen.entries.updateValue(entry, forKey: entry.id) == nil { seen.order.append(entry.id) }
        if let begun = seen.unfinished[entry.id]?.begun, begun <= entry.committed { seen.unfinished[entry.id] = nil }
    }

    // MARK: Writing

    func record(_ entries: [CatalogEntry], with receipts: BatchSeal?) throws(DatabaseError) -> Bool {
        try mayFail()
        for entry in entries { put(entry) }
        if let receipts {
            seen.receipts.append(KeptReceipts(receipts, uploads: entries.filter { $0.receipt != nil }.map(\.id)))
        }
        certain = seen
        return !seen.rotten.isEmpty
    }

    func recordUnfinished(_ uploads: [UnfinishedUpload], forgetting given: [UploadID]) throws(DatabaseError) {
        try mayFail()
        for upload in uploads { seen.unfinished[upload.id] = upload }
        for id in given { seen.unfinished[id] = nil }
    }

    func unfinished() throws(DatabaseError) -> [UnfinishedUpload] {
        try mayFail()
        return seen.unfinished.values.sorted { ($0.begun, $0.id.low) < ($1.begun, $1.id.low) }
    }

    func settle() throws(DatabaseError) { try mayFail() }

    let hasUnsettled = false

    func remove(paths: [String]) throws(DatabaseError) {
        try mayFail()
        for (id, entry) in seen.entries where paths.contains(entry.path) {
            seen.entries[id] = nil
            seen.order.removeAll { $0 == id }
        }
        certain = seen
    }

    func move(_ moves: [PathMove]) throws(DatabaseError) {
        try mayFail()
        for move in moves {
            for (id, entry) in seen.entries where entry.path == move.target { forget(id) }
            for (id, entry) in seen.entries where entry.committed <= move.moment {
                let isMoved = move.isFolder ? entry.path.hasPrefix("\(move.path)/") : entry.path == move.path
                guard isMoved else { continue }
                forget(id)
                var moved = entry
                moved.id = .random()
                moved.receipt = nil
                moved.path = move.target + entry.path.dropFirst(move.path.count)
                put(moved)
            }
        }
        certain = seen
    }

    private func forget(_ id: UploadID) {
        seen.entries[id] = nil
        seen.order.removeAll { $0 == id }
    }

    func restamp(_ changes: [VersionChange]) throws(DatabaseError) {
        try mayFail()
        for change in changes {
            for (id, entry) in seen.entries where entry.path == change.path && entry.version == change.before {
                seen.entries[id]?.version = change.after
            }
        }
        certain = seen
    }

    func keep(receiptNumber: UInt64) throws(DatabaseError) {
        try mayFail()
        seen.receiptNumber = max(seen.receiptNumber, receiptNumber)
        certain.receiptNumber = seen.receiptNumber
    }

    func add(rotten files: [RottenFile]) throws(DatabaseError) {
        try mayFail()
        for file in files { seen.rotten[file.path] = file }
        certain.rotten = seen.rotten
    }

    func removeRotten(at paths: [String]) throws(DatabaseError) {
        try mayFail()
        for path in paths { seen.rotten[path] = nil }
        certain.rotten = seen.rotten
    }

    func close() throws(DatabaseError) { certain = seen }

    // MARK: Reading

    func entries(for ids: [UploadID]) throws(DatabaseError) -> [CatalogEntry?] {
        try mayFail()
        return ids.map { seen.entries[$0] }
    }

    func entries(at paths: [String]) throws(DatabaseError) -> [[CatalogEntry]] {
        try mayFail()
        return paths.map { path in entries { $0.path == path } }
    }

    func stored(at path: String) throws(DatabaseError) -> [CatalogEntry] {
        try mayFail()
        return entries { $0.path == path && $0.state == .committed }
    }

    func files(_ query: KnownFiles.Query, after start: [UInt8]) throws(DatabaseError) -> KnownFiles {
        try mayFail()
        var known = KnownFiles()
        let prefix = query.prefix
        for (number, entry) in entries({ $0.path.utf8.starts(with: prefix) }).enumerated() {
            let name = entry.path.utf8.dropFirst(prefix.count)
            guard let digest = entry.digest, let version = entry.version, !name.contains(UInt8(ascii: "/")) else {
                continue
            }
            let isOwn = entry.client == query.client && (query.client != nil || entry.sender == query.sender)
            known.files.append(
                KnownFile(
                    name: String(decoding: Array(name), as: UTF8.self), id: entry.id, number: Int64(number),
                    isOwn: isOwn,
                    isDurable: entry.isDurable, function: digest.algorithm.function, version: version))
        }
        known.files.sort { PathKey($0.name) < PathKey($1.name) }
        return known
    }

    private func entries(_ isWanted: (CatalogEntry) -> Bool) -> [CatalogEntry] {
        seen.order.compactMap { seen.entries[$0] }.filter(isWanted)
    }

    func forEachEntry(_ body: (CatalogEntry) -> Void) throws(DatabaseError) -> Int {
        try mayFail()
        for id in seen.order { if let entry = seen.entries[id] { body(entry) } }
        return 0
    }

    func totals() throws(DatabaseError) -> [CatalogEntry.State: CatalogTotals] { [:] }

    func count() throws(DatabaseError) -> Int { seen.entries.count }

    func receipts(with number: UInt64) throws(DatabaseError) -> KeptReceipts? {
        try mayFail()
        return seen.receipts.last { number >= $0.seal.number && number - $0.seal.number < UInt64($0.uploads.count) }
    }

    var receiptNumber: UInt64 {
        get throws(DatabaseError) { seen.receiptNumber }
    }

    func hasRotten() throws(DatabaseError) -> Bool { !seen.rotten.isEmpty }

    func rotten(at path: String) throws(DatabaseError) -> RottenFile? { seen.rotten[path] }

    /// How many came before it; nothing for what never came.
    func place(of id: UploadID) -> Int? { seen.order.firstIndex(of: id) }

    /// What it knows, without a call that could fail.
    subscript(id: UploadID) -> CatalogEntry? { seen.entries[id] }
}
