import TransferModel
import TransferSystem

/// The rate that all connections of a push or a pull share.
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
        mostReceived = Int(clamping: max(rate / 20, 1))
    }

    /// - Parameter count: bytes that are ready, one at least.
    func take(atMost count: Int) -> Permission {
        bucket.withLock { bucket in
            let taken = bucket.take(atMost: count, now: .now)
            return taken > 0 ? .bytes(taken) : .waitUntil(bucket.next(for: count))
        }
    }

    /// When more may come, where that is not now.
    var pause: MonotonicTime? {
        bucket.withLock { bucket in
            guard bucket.take(atMost: 1, now: .now) == 1 else { return bucket.next(for: 1) }
            bucket.giveBack(1)
            return nil
        }
    }

    /// Bytes that are received at once at most, so that the rate is held from moment to moment.
    let mostReceived: Int

    /// Counts bytes that could not wait.
    func charge(_ count: Int) {
        bucket.withLock { $0.charge(count) }
    }

    /// Gives back what was taken and did not go.
    func giveBack(_ count: Int) {
        bucket.withLock { $0.giveBack(count) }
    }
}
