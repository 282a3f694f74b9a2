import TransferModel

/// Holds a rate: as many bytes may go as have dripped in, and what nobody takes within a moment is lost.
struct TokenBucket: Sendable {
    private let rate: Double
    private let capacity: Double
    private var level = 0.0
    private var latest: MonotonicTime

    /// Seconds of bytes that may wait: what a busy loop misses is caught up with, and nobody sees a burst.
    private static let patience = 0.2

    /// Parts of the capacity that are worth a system call and a record of TLS.
    private static let portions = 8.0

    /// - Parameter bytesPerSecond: more than zero.
    init(bytesPerSecond: UInt64, now: MonotonicTime) {
        rate = Double(bytesPerSecond)
        capacity = max(1, rate * Self.patience)
        latest = now
    }

    /// - Returns: how many bytes may go now, up to `count`; 0 when it is better to wait.
    mutating func take(atMost count: Int, now: MonotonicTime) -> Int {
        let elapsed = max(0, (now - latest).seconds)
        level = min(capacity, level + elapsed * rate)
        latest = now
        guard level >= portion(of: count) else { return 0 }
        let taken = min(count, Int(level))
        level -= Double(taken)
        return taken
    }

    /// Counts bytes that could not wait.
    mutating func charge(_ count: Int) {
        level -= Double(count)
    }

    /// Gives back what was taken and did not go.
    mutating func giveBack(_ count: Int) {
        level += Double(count)
    }

    /// When it is worth asking again for that many.
    func next(for count: Int) -> MonotonicTime {
        latest + .seconds(max(0, portion(of: count) - level) / rate)
    }

    /// One byte at least, so that it is never worth taking nothing.
    private func portion(of count: Int) -> Double { max(1, min(Double(count), capacity / Self.portions)) }
}
