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
        var intended: [(number: Int64, change: IntendedChange)] = []
    }

    /// What every program sees, and what is on disk.
    private var seen = State()
    private var certain = State()

    /// Calls that pass before one fails.
    var failsAfter: UInt32?

    /// Calls that pass before the process dies in one.
    var diesAfter: UInt32?

    /// The process that uses it.
    var isDead: () -> Bool = { false }
    var die: () -> Void = {}

    /// A planted mistake: what is intended is not noted.
    let forgetsIntended: Bool

    private(set) var wasEmpty = true

    /// Whether a call has failed.
    private(set) var hasFailed = false

    init(forgetsIntended: Bool = false) {
        self.forgetsIntended = forgetsIntended
    }

    /// As after a restart.
    func reopen() { wasEmpty = seen.entries.isEmpty }

    func cutPower() {
        seen = certain
        reopen()
    }

    private func mayFail() throws(DatabaseError) {
        if let left = diesAfter {
            diesAfter = left == 0 ? nil : left - 1
            if left == 0 { die() }
        }
        guard !isDead() else { throw DatabaseError(.failed, "The process is no more.") }
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

    func intend(_ changes: [IntendedChange]) throws(DatabaseError) -> NotedChanges {
        try mayFail()
        guard !forgetsIntended, !changes.isEmpty else { return .none }
        let first = (seen.intended.last?.number ?? 0) + 1
        for (offset, change) in changes.enumerated() { seen.intended.append((first + Int64(offset), change)) }
        certain = seen
        return NotedChanges(first...first + Int64(changes.count) - 1, newest: .min)
    }

    func intended() throws(DatabaseError) -> [NotedChange] {
        try mayFail()
        return seen.intended.map { NotedChange($0.change, under: $0.number, newest: .min) }
    }

    func acknowledged(below move: PathMove, after noted: NotedChanges) throws(DatabaseError) -> [LateUpload] {
        try mayFail()
        return entries { $0.path.hasPrefix("\(move.path)/") && $0.committed > move.moment }.compactMap { entry in
            entry.version.map { LateUpload(entry.path, object: $0.object) }
        }
    }

    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(DatabaseError) {
        try mayFail()
        for file in changes.replaced { forget(file.path, to: file.moment, but: file.object) }
        for link in changes.links { put(link) }
        for move in changes.moves { put(move) }
        for change in changes.versions {
            for (id, entry) in seen.entries where entry.path == change.path && entry.version == change.before {
                seen.entries[id]?.version = change.after
            }
        }
        seen.intended.removeAll { (noted.numbers?.contains($0.number) ?? false) && !noted.kept.contains($0.number) }
        certain = seen
    }

    private func forget(_ path: String, to moment: Int64, but object: UInt64?) {
        for (id, entry) in seen.entries where entry.path == path && entry.committed <= moment {
            if object == nil || entry.version?.object != object { forget(id) }
        }
    }

    private func put(_ link: PathLink) {
        let isKnown = seen.entries.values.contains { $0.path == link.target && $0.version == link.after }
        let source = entries { $0.path == link.path && $0.version == link.before && $0.digest != nil }
        guard !isKnown, var entry = source.max(by: { $0.committed < $1.committed }) else { return }
        (entry.id, entry.state, entry.receipt, entry.run) = (.random(), .committed, nil, nil)
        (entry.path, entry.version, entry.begun) = (link.target, link.after, link.moment)
        entry.committed = link.moment
        put(entry)
    }

    private func put(_ move: PathMove) {
        if move.object != nil { forget(move.target, to: move.moment, but: move.object) }
        for entry in entries({ _ in true }) {
            let isOld = entry.committed <= move.moment
            let isMoved =
                move.object == nil
                ? isOld && entry.path.hasPrefix("\(move.path)/")
                : entry.path == move.path && (isOld || entry.version?.object == move.object)
            guard isMoved else { continue }
            forget(entry.id)
            var moved = entry
            moved.id = .random()
            moved.receipt = nil
            moved.path = move.target + entry.path.dropFirst(move.path.count)
            put(moved)
        }
    }

    private func forget(_ id: UploadID) {
        seen.entries[id] = nil
        seen.order.removeAll { $0 == id }
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

    /// Whether it says that an object is at a path.
    func says(_ object: UInt64, at path: String) -> Bool {
        seen.entries.values.contains { $0.path == path && $0.version?.object == object }
    }

    /// Whether somebody knows a file in a folder that no upload stands for any more.
    func hasStranger(in folder: String, but ids: Set<UploadID>) -> Bool {
        seen.entries.values.contains { $0.path.hasPrefix(folder.isEmpty ? "" : folder + "/") && !ids.contains($0.id) }
    }

    /// What it knows, without a call that could fail.
    subscript(id: UploadID) -> CatalogEntry? { seen.entries[id] }
}
