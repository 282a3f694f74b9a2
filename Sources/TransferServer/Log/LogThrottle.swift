import TransferModel

/// Limits what clients can make a server log about their faults, however many connections they open, and counts what
/// was left out. The time is an argument of each method.
struct LogThrottle {
    /// Lines that may be written at once: as many as a person looking for a cause reads.
    static let burst = 100

    /// Lines a second in the long run: 86 MB a day with 100 bytes each.
    static let rate = 10

    /// Time between two lines that say how many were left out.
    static let summaryInterval = Interval.seconds(10)

    /// Nanoseconds that a line costs.
    private static let price = Interval.seconds(1).nanoseconds / Int64(rate)

    /// The moment at which the whole burst is available again.
    private var full: MonotonicTime
    private var leftOut = 0
    private var nextSummary: MonotonicTime

    init(now: MonotonicTime) {
        full = now
        nextSummary = now
    }

    /// Whether a line may be written now; if so, it counts.
    mutating func admits(now: MonotonicTime) -> Bool {
        let after = max(full, now) + Interval(nanoseconds: Self.price)
        guard after <= now + Interval(nanoseconds: Self.price * Int64(Self.burst)) else {
            leftOut += 1
            return false
        }
        full = after
        return true
    }

    /// The number of lines that were left out since the last call that returned one.
    ///
    /// - Parameter now: the current time; nil to return the number even if the last one was returned only just before.
    /// - Returns: nil if none were left out, or if the last number was returned only just before.
    mutating func takeLeftOut(now: MonotonicTime?) -> Int? {
        guard leftOut > 0, now.map({ $0 >= nextSummary }) ?? true else { return nil }
        if let now { nextSummary = now + Self.summaryInterval }
        defer { leftOut = 0 }
        return leftOut
    }
}
