import TransferModel

/// Bounds what clients can make a server write about their faults, however many connections they open, and counts what
/// was left out. The time is an argument of every call.
struct LogThrottle {
    /// Lines that may come at once: what somebody looking for a cause reads.
    static let burst = 100

    /// Lines a second in the long run: 86 MB a day of 100 bytes each.
    static let rate = 10

    /// Between two lines that say how many were left out.
    static let summaryInterval = Interval.seconds(10)

    /// Time that a line costs.
    private static let price = Interval.seconds(1).nanoseconds / Int64(rate)

    /// The moment at which all room is free again.
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

    /// How many lines were left out since it was last told.
    ///
    /// - Parameter now: nothing to be told in any case.
    /// - Returns: nothing when there are none, or when it was told only just before.
    mutating func takeLeftOut(now: MonotonicTime?) -> Int? {
        guard leftOut > 0, now.map({ $0 >= nextSummary }) ?? true else { return nil }
        if let now { nextSummary = now + Self.summaryInterval }
        defer { leftOut = 0 }
        return leftOut
    }
}
