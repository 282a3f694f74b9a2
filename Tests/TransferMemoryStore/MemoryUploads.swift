import TransferModel
import TransferPorts
import TransferSystem

/// The state that records of uploads in memory keep from one server to the next. Safe to use from any thread.
package final class MemoryUploads: Sendable {
    struct State: Sendable {
        /// Recorded entries that are not indexed yet, in the order in which they were recorded.
        var arrivals: [CatalogEntry] = []
        var rows = MemoryRows()
        var unfinished: [UploadID: UnfinishedUpload] = [:]
        /// Notes of changes, in the order of their numbers.
        var notes: [MemoryNote] = []
        /// The largest number of any note so far.
        var lastNote: Int64 = 0
        /// The acknowledged digests of files whose content the disk has lost.
        var rotten: [FileContent: Digest] = [:]
        var home: KnownHome?
        var receiptNumber: UInt64 = 0
    }

    /// Identifies the content of a file. New names and permissions do not change it.
    struct FileContent: Hashable, Sendable {
        let object: UInt64
        let revision: Int64
        let size: UInt64

        init(_ file: ContentVersion) { (object, revision, size) = (file.object, file.revision, file.size) }

        var version: ContentVersion { ContentVersion(object: object, revision: revision, touch: 0, size: size) }
    }

    let state = Locked(State())

    package init() {}
}

// MARK: The index

extension MemoryUploads.State {
    /// The number of the last row when the newest note was written; nil without notes.
    private var newestNoted: Int64? { notes.map(\.newest).max() }

    /// Adds new entries to the rows, so that they can be found by path. A path keeps the newest 64 rows of each state.
    mutating func index() {
        guard !arrivals.isEmpty else { return }
        for entry in arrivals { enter(entry) }
        // Rows from before the newest note may belong to files that a noted change moves, so they stay.
        for path in Set(arrivals.lazy.map { PathKey($0.path) }) { rows.prune(path, behind: newestNoted ?? .min) }
        arrivals = []
    }

    private mutating func enter(_ entry: CatalogEntry) {
        var indexed = entry
        indexed.kept = nil
        rows.write(indexed, isNoted: newestNoted != nil)
        // An unfinished upload that has begun after this acknowledgement stays unfinished: the acknowledged file is
        // gone.
        if let begun = unfinished[entry.id]?.begun, begun <= entry.committed { unfinished[entry.id] = nil }
        guard let kept = entry.kept, let version = kept.version else { return }
        makeFileChanges(KnownChanges(kept, version, of: entry.path), .none)
    }
}

/// The rows of indexed uploads, by number, by ID and by path.
struct MemoryRows: Sendable {
    private var entries: [Int64: CatalogEntry] = [:]
    private var numbers: [UploadID: Int64] = [:]
    /// The numbers of the rows of each path, in order.
    private var ofPaths: [PathKey: [Int64]] = [:]
    /// The paths of all rows, in the order of their bytes.
    private(set) var paths: [PathKey] = []
    /// Batches of receipts that were signed together, in the order of their first numbers.
    private var signed: [KeptReceipts] = []
    /// The largest number of any row so far.
    private(set) var last: Int64 = 0

    /// The number of rows that a path keeps in each state.
    static let mostOfPath = 64

    var count: Int { entries.count }

    subscript(id: UploadID) -> CatalogEntry? { numbers[id].flatMap { entries[$0] } }

    /// All entries, in the order of their numbers.
    var inOrder: [CatalogEntry] { entries.sorted { $0.key < $1.key }.map(\.value) }

    /// The entries of a path with their numbers, in the order of the numbers.
    func at(_ path: PathKey) -> [(number: Int64, entry: CatalogEntry)] {
        (ofPaths[path] ?? []).compactMap { number in entries[number].map { (number, $0) } }
    }

    /// The newest entries of a path in one state, with their numbers, in the order of the numbers.
    func newest(at path: PathKey, _ state: CatalogEntry.State) -> [(number: Int64, entry: CatalogEntry)] {
        at(path).filter { $0.entry.state == state }.suffix(Self.mostOfPath)
    }

    /// The paths below a folder, at any depth.
    func paths(below folder: String) -> [PathKey] {
        // In ASCII, `0` follows `/`: all paths below the folder are between these two.
        let (start, end) = (firstPath(from: Array("\(folder)/".utf8)), firstPath(from: Array("\(folder)0".utf8)))
        return Array(paths[start..<max(start, end)])
    }

    /// The position of the first path that is not before these bytes.
    func firstPath(from bytes: [UInt8]) -> Int {
        paths.firstIndex(behind: { $0.string.utf8.lexicographicallyPrecedes(bytes) })
    }

    /// The entries with numbers above `number`, in the order of the numbers.
    func entries(behind number: Int64) -> [CatalogEntry] {
        entries.filter { $0.key > number }.sorted { $0.key < $1.key }.map(\.value)
    }
}

// MARK: Changes of rows

extension MemoryRows {
    /// Writes an entry over the row with its ID, which keeps its number unless changes are noted.
    ///
    /// - Parameter isNoted: whether changes are noted. The entry then gets a new number, so that it counts as later
    ///   than the notes, and a row of another file with the same ID stays, under an ID that no client has.
    mutating func write(_ entry: CatalogEntry, isNoted: Bool) {
        guard let number = numbers[entry.id], let known = entries[number] else { return insert(entry) }
        if isNoted, known.version?.object != entry.version?.object {
            var other = known
            (other.id, other.receipt) = (.random(), nil)
            put(other, at: number)
            return insert(entry)
        }
        guard isNoted else { return put(entry, at: number) }
        remove(number, keepsSignature: known.receipt == entry.receipt)
        insert(entry)
    }

    /// Adds an entry, with a number above all others.
    mutating func insert(_ entry: CatalogEntry) {
        last += 1
        (entries[last], numbers[entry.id]) = (entry, last)
        add(last, to: PathKey(entry.path))
    }

    /// Replaces the entry of a row. If the row loses its receipt, all receipts of that batch are removed: they can only
    /// be made again from all uploads of the batch.
    mutating func put(_ entry: CatalogEntry, at number: Int64) {
        guard let known = entries[number] else { return }
        if let receipt = known.receipt, receipt != entry.receipt { forgetReceipts(with: receipt) }
        numbers[known.id] = nil
        (entries[number], numbers[entry.id]) = (entry, number)
        guard !known.path.hasSameBytes(as: entry.path) else { return }
        take(number, from: PathKey(known.path))
        add(number, to: PathKey(entry.path))
    }

    mutating func remove(_ number: Int64, keepsSignature: Bool = false) {
        guard let known = entries.removeValue(forKey: number) else { return }
        if let receipt = known.receipt, !keepsSignature { forgetReceipts(with: receipt) }
        numbers[known.id] = nil
        take(number, from: PathKey(known.path))
    }

    /// Removes the rows of a path with numbers above `number`, except the newest ones in each state.
    mutating func prune(_ path: PathKey, behind number: Int64) {
        guard ofPaths[path, default: []].count > Self.mostOfPath else { return }
        for state in CatalogEntry.State.allCases {
            let late = at(path).filter { $0.number > number && $0.entry.state == state }
            for row in late.dropLast(Self.mostOfPath) { remove(row.number) }
        }
    }

    private mutating func add(_ number: Int64, to path: PathKey) {
        if ofPaths[path] == nil { paths.insert(path, at: paths.firstIndex(behind: { $0 < path })) }
        var numbers = ofPaths[path] ?? []
        numbers.insert(number, at: numbers.firstIndex(behind: { $0 < number }))
        ofPaths[path] = numbers
    }

    private mutating func take(_ number: Int64, from path: PathKey) {
        ofPaths[path]?.removeAll { $0 == number }
        guard ofPaths[path]?.isEmpty ?? false else { return }
        ofPaths[path] = nil
        paths.remove(at: paths.firstIndex(behind: { $0 < path }))
    }
}

// MARK: Receipts

extension MemoryRows {
    func receipts(with number: UInt64) -> KeptReceipts? { indexOfReceipts(with: number).map { signed[$0] } }

    /// Keeps a batch of receipts, in place of an earlier batch with the same number.
    mutating func keep(_ receipts: KeptReceipts) {
        let number = receipts.signedBatch.number
        let index = signed.firstIndex(behind: { $0.signedBatch.number < number })
        if index < signed.count, signed[index].signedBatch.number == number { signed.remove(at: index) }
        signed.insert(receipts, at: index)
    }

    private mutating func forgetReceipts(with number: UInt64) {
        if let index = indexOfReceipts(with: number) { signed.remove(at: index) }
    }

    private func indexOfReceipts(with number: UInt64) -> Int? {
        let index = signed.firstIndex(behind: { $0.signedBatch.number <= number }) - 1
        return index >= 0 && signed[index].contain(number) ? index : nil
    }
}
