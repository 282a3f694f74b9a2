import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// The last acknowledged uploads, by id, so that a replay after a lost acknowledgement needs no query to the catalog,
/// and is answered even if the catalog fails. It also has the ids that are being completed: a replay must not mistake
/// the file that its own first attempt is about to publish for another client's file.
final class RecentResults: Sendable {
    /// The position of an entry.
    private struct Place: Equatable {
        let batch: Int
        let index: Int
    }

    /// Uploads that were added together.
    private struct Batch {
        let ids: [UploadID]
        /// Empty if the entries took too much memory. The catalog has them, and the ids still show that the uploads
        /// were completed.
        var entries: [CatalogEntry]
        /// Bytes of the names in `entries`.
        var bytes: Int
    }

    private struct State {
        /// The batches by number; newer batches have greater numbers. Entries stay in their batch, because copying them
        /// would cost more than everything else here.
        var batches: [Int: Batch] = [:]
        var oldest = 0
        var next = 0
        /// Number of the first batch that still has its entries.
        var firstWhole = 0
        /// Number of ids in all batches; an id that came twice counts twice.
        var count = 0
        /// Bytes of the names in all batches.
        var bytes = 0
        var places: [UploadID: Place] = [:]
        /// Uploads that are being completed, and not added yet.
        var claims: Set<UploadID> = []
        var forgotten = ForgottenPaths()
    }

    /// A claim to complete an upload.
    struct Claim {
        let id: UploadID
        /// The value of `RecentResults.moment` before the id was looked up in the recent results.
        let begun: Int
    }

    /// The most ids that are remembered. A client replays at most its window of unacknowledged uploads; this is the
    /// window of four clients.
    static let capacity = 16_384

    /// The most bytes of paths and senders: 512 for each entry.
    static let mostBytes = 8 << 20

    private let state = Locked(State())
    private let batches = Atomic(0)

    /// A number that grows whenever uploads are added.
    var moment: Int { batches.load(ordering: .acquiring) }

    /// Claims ids for completion. Each claim has to be released when its upload is added or has failed.
    ///
    /// - Returns: the indices of refused claims: another connection is completing the upload, or has completed it since
    ///   `Claim.begun`.
    func claim(_ claims: [Claim]) -> [Int] {
        state.withLock { state in
            claims.indices.filter { index in
                let claim = claims[index]
                if let place = state.places[claim.id], place.batch >= claim.begun { return true }
                return !state.claims.insert(claim.id).inserted
            }
        }
    }

    func isClaimed(_ id: UploadID) -> Bool { state.withLock { $0.claims.contains(id) } }

    func release(_ ids: some Sequence<UploadID>) {
        state.withLock { state in
            for id in ids { state.claims.remove(id) }
        }
    }

    /// - Returns: the entry; nil if it is not in memory.
    func find(_ id: UploadID) -> CatalogEntry? {
        state.withLock { state in
            guard let place = state.places[id], let entries = state.batches[place.batch]?.entries,
                place.index < entries.count
            else { return nil }
            let entry = entries[place.index]
            return state.forgotten.isForgotten(entry.path, ofBatch: place.batch) ? nil : entry
        }
    }

    func add(_ entries: [CatalogEntry]) {
        let bytes = entries.reduce(0) { $0 + $1.path.utf8.count + $1.sender.utf8.count }
        let batch = Batch(ids: entries.map(\.id), entries: entries, bytes: bytes)
        state.withLock { state in
            for (index, id) in batch.ids.enumerated() { state.places[id] = Place(batch: state.next, index: index) }
            state.batches[state.next] = batch
            state.next += 1
            batches.store(state.next, ordering: .releasing)
            state.count += entries.count
            state.bytes += bytes
            while state.count > Self.capacity { Self.forgetOldest(&state) }
            while state.bytes > Self.mostBytes, state.firstWhole < state.next { Self.stripFirst(&state) }
        }
    }

    /// Forgets the entries with these paths, because the catalog has newer ones. `claim` still refuses older attempts
    /// to complete these uploads.
    func forget(_ paths: Set<PathKey>) {
        state.withLock { state in
            for path in paths { state.forgotten.add(path, before: state.next, oldest: state.oldest) }
        }
    }

    private static func forgetOldest(_ state: inout State) {
        let batch = state.batches.removeValue(forKey: state.oldest)
        for (index, id) in (batch?.ids ?? []).enumerated() {
            // The id may have been added again.
            if state.places[id] == Place(batch: state.oldest, index: index) { state.places[id] = nil }
        }
        state.count -= batch?.ids.count ?? 0
        state.bytes -= batch?.bytes ?? 0
        state.oldest += 1
        state.firstWhole = max(state.firstWhole, state.oldest)
    }

    private static func stripFirst(_ state: inout State) {
        state.bytes -= state.batches[state.firstWhole]?.bytes ?? 0
        state.batches[state.firstWhole]?.entries = []
        state.batches[state.firstWhole]?.bytes = 0
        state.firstWhole += 1
    }
}

/// Paths whose entries are outdated. The cost is one look for each path, however many entries it has.
private struct ForgottenPaths {
    /// For each path, the number after the last batch whose entries are outdated.
    private var ends: [PathKey: Int] = [:]
    private var bytes = 0
    /// All entries of batches before this one count as forgotten, because the catalog has them.
    private var endOfAll = 0

    mutating func add(_ path: PathKey, before end: Int, oldest: Int) {
        if ends.updateValue(end, forKey: path) == nil { bytes += path.string.utf8.count }
        guard ends.count > RecentResults.capacity || bytes > RecentResults.mostBytes else { return }
        ends = ends.filter { $0.value > oldest }
        bytes = ends.keys.reduce(0) { $0 + $1.string.utf8.count }
        // If this frees little memory, it would be repeated at every call, so all entries are forgotten instead.
        guard ends.count > RecentResults.capacity / 2 || bytes > RecentResults.mostBytes / 2 else { return }
        (ends, bytes, endOfAll) = ([:], 0, end)
    }

    func isForgotten(_ path: String, ofBatch batch: Int) -> Bool {
        batch < endOfAll || batch < ends[PathKey(path)] ?? 0
    }
}

/// Files that uploads have replaced lately, and where they are kept. If the file of an upload is replaced before the
/// upload is recorded, the record gets the path where the file is kept.
final class RecentKeeps: Sendable {
    private struct Keep {
        let path: String
        let place: RelativePath
    }

    private struct State {
        /// By the object numbers of the files.
        var recent: [UInt64: Keep] = [:]
        var older: [UInt64: Keep] = [:]
    }

    /// The number of files in a generation. It suffices, because a publication is recorded within milliseconds.
    private static let generation = 4096

    private let state = Locked(State())

    func add(_ kept: KeptFile, of path: RelativePath) {
        guard let object = kept.version?.before.object else { return }
        state.withLock { state in
            state.recent[object] = Keep(path: path.string, place: kept.place)
            guard state.recent.count >= Self.generation else { return }
            (state.older, state.recent) = (state.recent, [:])
        }
    }

    /// Finds the places in the trash of files that had these paths.
    ///
    /// - Returns: one element for each file, in order; nil for a file that was not replaced lately.
    func places(of files: [(path: String, object: UInt64)]) -> [RelativePath?] {
        state.withLock { state in
            guard !state.recent.isEmpty || !state.older.isEmpty else { return files.map { _ in nil } }
            return files.map { file in
                let found = state.recent[file.object] ?? state.older[file.object]
                return found.flatMap { $0.path.hasSameBytes(as: file.path) ? $0.place : nil }
            }
        }
    }
}

/// A Bloom filter of recorded ids. Most ids are new, and a query to the catalog for each would cost more than the rest
/// of a small upload.
final class UploadFilter: Sendable {
    private struct State {
        var words: [UInt64]
        /// Whether all ids of the catalog are in the filter.
        var isLoaded: Bool
    }

    /// Bits for each id. With three probes, one new id in two hundred looks like a recorded one.
    private static let bitsPerID = 16
    private static let probes = 3

    /// The smallest and the largest size in bits. 1 MiB suffices for half a million ids; if 16 MiB have more than eight
    /// million ids, more new ids look like recorded ones.
    private static let sizes = 1 << 23...1 << 27

    private let state: Locked<State>

    /// - Parameter known: the number of ids in the catalog, which have to be added; nil if it cannot be read.
    init(catalogCount known: Int?) {
        let count = known ?? 0
        let (wanted, overflow) = count.multipliedReportingOverflow(by: 2 * Self.bitsPerID)
        var bits = Self.sizes.lowerBound
        while bits < Self.sizes.upperBound, overflow || bits < wanted { bits *= 2 }
        state = Locked(State(words: [UInt64](repeating: 0, count: bits / 64), isLoaded: known == 0))
    }

    /// Whether the filter can recognise new ids.
    var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// Has to be called when all ids of the catalog were added.
    func loaded() {
        state.withLock { $0.isLoaded = true }
    }

    func add(_ ids: some Sequence<UploadID>) {
        state.withLock { state in
            for id in ids {
                for bit in Self.bits(of: id, in: state.words.count * 64) {
                    state.words[bit / 64] |= 1 << UInt64(bit % 64)
                }
            }
        }
    }

    /// Whether the catalog may know the id.
    func mayContain(_ id: UploadID) -> Bool {
        state.withLock { state in
            guard state.isLoaded else { return true }
            return Self.bits(of: id, in: state.words.count * 64).allSatisfy { bit in
                state.words[bit / 64] & 1 << UInt64(bit % 64) != 0
            }
        }
    }

    /// - Parameter size: a power of two.
    private static func bits(of id: UploadID, in size: Int) -> some Sequence<Int> {
        // The hash has a random key, because clients choose the ids.
        var hasher = Hasher()
        hasher.combine(id.high)
        hasher.combine(id.low)
        let hash = UInt(bitPattern: hasher.finalize())
        // Two halves of a hash make as many hashes as are needed (Kirsch and Mitzenmacher, 2006).
        let (start, step) = (hash & UInt(UInt32.max), hash >> 32 | 1)
        return (0..<UInt(probes)).lazy.map { Int((start &+ $0 &* step) & UInt(size - 1)) }
    }
}
