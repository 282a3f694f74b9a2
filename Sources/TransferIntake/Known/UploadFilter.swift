import TransferModel
import TransferSystem

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
