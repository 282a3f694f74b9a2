import Synchronization
import TransferModel
import TransferPorts
import TransferSystem

/// The last uploads that were acknowledged, by id, so that a replay after a lost acknowledgement costs no look into the
/// catalog, and gets an answer where there is none; and those that are just being completed, so that a replay does not
/// meet what its own first attempt is about to leave.
final class RecentResults: Sendable {
    /// Where an entry is.
    private struct Place: Equatable {
        let batch: Int
        let index: Int
    }

    /// Uploads that were added together.
    private struct Batch {
        let ids: [UploadID]
        /// None where they took too much memory: the catalog has them, and that the uploads were completed stays known.
        var entries: [CatalogEntry]
        /// Of the names in `entries`.
        var bytes: Int
    }

    private struct State {
        /// By their numbers, which grow. As they came: copying their entries would cost more than all else here.
        var batches: [Int: Batch] = [:]
        var oldest = 0
        var next = 0
        /// The first that has its entries.
        var firstWhole = 0
        /// Entries in all of them, also those whose id came again.
        var count = 0
        /// Of all their names.
        var bytes = 0
        var places: [UploadID: Place] = [:]
        /// Uploads that are being completed, and not added yet.
        var claims: Set<UploadID> = []
        var forgotten = ForgottenPaths()
    }

    /// An upload that is all there.
    struct Claim {
        let id: UploadID
        /// The `moment` before it was looked for here.
        let begun: Int
    }

    /// A client replays at most its window of unacknowledged uploads; this holds that of four clients.
    static let capacity = 16_384

    /// Bytes of paths and senders: 512 for each.
    static let mostBytes = 8 << 20

    private let state = Locked(State())
    private let batches = Atomic(0)

    /// Grows whenever uploads are added.
    var moment: Int { batches.load(ordering: .acquiring) }

    /// Asks for the right to complete uploads, which is to be released when they are added or have failed.
    ///
    /// - Returns: the positions of those that another connection completes, or has completed since they began.
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

    /// - Returns: what is known of the id.
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

    /// Forgets what was acknowledged under these paths: the catalog knows better by now. An older copy of such an upload is still
    /// refused by `claim`.
    func forget(_ paths: Set<PathKey>) {
        state.withLock { state in
            for path in paths { state.forgotten.add(path, before: state.next, oldest: state.oldest) }
        }
    }

    private static func forgetOldest(_ state: inout State) {
        let batch = state.batches.removeValue(forKey: state.oldest)
        for (index, id) in (batch?.ids ?? []).enumerated() {
            // It may have come again.
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

/// Paths whose results may be wrong by now: no more than a look at each, however many results there are of it.
private struct ForgottenPaths {
    /// The number behind the last batch whose results may be wrong.
    private var ends: [PathKey: Int] = [:]
    private var bytes = 0
    /// All results of earlier batches count as forgotten: the catalog has them.
    private var endOfAll = 0

    mutating func add(_ path: PathKey, before end: Int, oldest: Int) {
        if ends.updateValue(end, forKey: path) == nil { bytes += path.string.utf8.count }
        guard ends.count > RecentResults.capacity || bytes > RecentResults.mostBytes else { return }
        ends = ends.filter { $0.value > oldest }
        bytes = ends.keys.reduce(0) { $0 + $1.string.utf8.count }
        // Where little was gained this would be done again and again.
        guard ends.count > RecentResults.capacity / 2 || bytes > RecentResults.mostBytes / 2 else { return }
        (ends, bytes, endOfAll) = ([:], 0, end)
    }

    func isForgotten(_ path: String, ofBatch batch: Int) -> Bool {
        batch < endOfAll || batch < ends[PathKey(path)] ?? 0
    }
}

/// Files that have given way to uploads last, and where they are kept: an upload whose file is replaced between its publication and its
/// record is recorded there.
final class RecentKeeps: Sendable {
    private struct Keep {
        let path: String
        let place: RelativePath
    }

    private struct State {
        /// By the numbers of the files.
        var recent: [UInt64: Keep] = [:]
        var older: [UInt64: Keep] = [:]
    }

    /// Files in a generation. A publication is recorded within milliseconds.
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

    /// Where files are kept that had these paths.
    ///
    /// - Returns: one for each, in their order; nil for one that has not given way lately.
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

/// Tells ids that were surely never recorded from those that may have been, in little memory: a Bloom filter. Most ids are
/// new, and to look one up in the catalog costs more than all else about a small upload.
final class UploadFilter: Sendable {
    private struct State {
        var words: [UInt64]
        /// Whether all that the catalog knew is in it.
        var isLoaded: Bool
    }

    /// Bits for each id: with three probes one id in two hundred is taken for another.
    private static let bitsPerID = 16
    private static let probes = 3

    /// Bits: room for half a million ids in 1 MiB; for more than eight millions, in 16 MiB, it only tells less well.
    private static let sizes = 1 << 23...1 << 27

    private let state: Locked<State>

    /// - Parameter known: ids that the catalog knows already, which have to be added; nothing where it cannot say.
    init(catalogCount known: Int?) {
        let count = known ?? 0
        let (wanted, overflow) = count.multipliedReportingOverflow(by: 2 * Self.bitsPerID)
        var bits = Self.sizes.lowerBound
        while bits < Self.sizes.upperBound, overflow || bits < wanted { bits *= 2 }
        state = Locked(State(words: [UInt64](repeating: 0, count: bits / 64), isLoaded: known == 0))
    }

    /// Whether it tells ids that the catalog does not know.
    var isLoaded: Bool { state.withLock { $0.isLoaded } }

    /// All that the catalog knew was added.
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
        // Under a key of this process: clients choose ids.
        var hasher = Hasher()
        hasher.combine(id.high)
        hasher.combine(id.low)
        let hash = UInt(bitPattern: hasher.finalize())
        // The two halves make as many hashes as are wanted (Kirsch and Mitzenmacher, 2006).
        let (start, step) = (hash & UInt(UInt32.max), hash >> 32 | 1)
        return (0..<UInt(probes)).lazy.map { Int((start &+ $0 &* step) & UInt(size - 1)) }
    }
}
