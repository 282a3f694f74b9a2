import TransferModel
import TransferSystem

/// The rate that all connections of a push share.
final class Bandwidth: Sendable {
    /// What may be done now.
    enum Permission {
        /// One byte at least.
        case bytes(Int)
        case waitUntil(MonotonicTime)
    }

    private let bucket: Locked<TokenBucket>

    init(bytesPerSecond: UInt64) {
        let rate = max(bytesPerSecond, ClientConfiguration.leastBandwidth)
        bucket = Locked(TokenBucket(bytesPerSecond: rate, now: .now))
    }

    /// - Parameter count: bytes that are ready, one at least.
    func take(atMost count: Int) -> Permission {
        bucket.withLock { bucket in
            let taken = bucket.take(atMost: count, now: .now)
            return taken > 0 ? .bytes(taken) : .waitUntil(bucket.next(for: count))
        }
    }

    /// Counts bytes that could not wait.
    func charge(_ count: Int) {
        bucket.withLock { $0.charge(count) }
    }

    /// Gives back what was taken and did not go.
    func giveBack(_ count: Int) {
        bucket.withLock { $0.giveBack(count) }
    }
}
