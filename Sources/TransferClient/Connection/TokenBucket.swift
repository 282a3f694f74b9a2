import TransferModel

/// Limits a rate: bytes are earned with time, and those that are not spent within `patience` seconds expire.
struct TokenBucket: Sendable {
    private let rate: Double
    private let capacity: Double
    private var level = 0.0
    private var latest: MonotonicTime

    /// Seconds of bytes that can be saved up: enough to catch up after a busy loop, too few for a visible burst.
    private static let patience = 0.2

    /// The capacity divided by this is the least number of bytes worth a system call and a TLS record.
    private static let portions = 8.0

    /// - Parameter bytesPerSecond: more than zero.
    init(bytesPerSecond: UInt64, now: MonotonicTime) {
        rate = Double(bytesPerSecond)
        capacity = max(1, rate * Self.patience)
        latest = now
    }

    /// - Returns: how many bytes may be sent now, at most `count`; 0 to wait.
    mutating func take(atMost count: Int, now: MonotonicTime) -> Int {
        let elapsed = max(0, (now - latest).seconds)
        level = min(capacity, level + elapsed * rate)
        latest = now
        guard level >= portion(of: count) else { return 0 }
        let taken = min(count, Int(level))
        level -= Double(taken)
        return taken
    }

    /// Counts bytes that were sent without waiting.
    mutating func charge(_ count: Int) {
        level -= Double(count)
    }

    /// Returns bytes that were taken and not sent.
    mutating func giveBack(_ count: Int) {
        level += Double(count)
    }

    /// When to ask again for `count` bytes.
    func next(for count: Int) -> MonotonicTime {
        latest + .seconds(max(0, portion(of: count) - level) / rate)
    }

    /// At least one byte, so that no caller takes 0 bytes in a loop.
    private func portion(of count: Int) -> Double { max(1, min(Double(count), capacity / Self.portions)) }
}
