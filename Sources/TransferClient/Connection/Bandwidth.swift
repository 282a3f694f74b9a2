import TransferModel
import TransferSystem

/// The rate limit that all connections of a push or pull share.
final class Bandwidth: Sendable {
    /// The answer to a request to send.
    enum Permission {
        /// At least one byte may be sent.
        case bytes(Int)
        case waitUntil(MonotonicTime)
    }

    private let bucket: Locked<TokenBucket>

    init(bytesPerSecond: UInt64) {
        let rate = max(bytesPerSecond, ClientConfiguration.leastBandwidth)
        bucket = Locked(TokenBucket(bytesPerSecond: rate, now: .now))
        mostReceived = Int(clamping: max(rate / 20, 1))
    }

    /// - Parameter count: the bytes that are ready, at least one.
    func take(atMost count: Int) -> Permission {
        bucket.withLock { bucket in
            let taken = bucket.take(atMost: count, now: .now)
            return taken > 0 ? .bytes(taken) : .waitUntil(bucket.next(for: count))
        }
    }

    /// The time from which more may be received; nil if more may be received now.
    var pause: MonotonicTime? {
        bucket.withLock { bucket in
            guard bucket.take(atMost: 1, now: .now) == 1 else { return bucket.next(for: 1) }
            bucket.giveBack(1)
            return nil
        }
    }

    /// The most bytes to receive at once, so that the rate is even.
    let mostReceived: Int

    /// Counts bytes that were sent without waiting.
    func charge(_ count: Int) {
        bucket.withLock { $0.charge(count) }
    }

    /// Returns bytes that were taken and not sent.
    func giveBack(_ count: Int) {
        bucket.withLock { $0.giveBack(count) }
    }
}
