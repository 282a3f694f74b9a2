import TransferModel

/// Decides how long and how often the client tries to reach a server. Waits between attempts grow. The time for
/// retrying begins with the first loss after the last progress, or with the first attempt if the first connection is
/// retried.
struct Patience {
    private let length: Interval
    private var backoff = Backoff()
    /// When the time for retrying is over; nil while nothing is being retried.
    private var end: MonotonicTime?

    /// - Parameter seconds: how long to retry; with 0 there is one attempt, with its normal deadline.
    init(seconds: Double) {
        length = .seconds(seconds)
    }

    /// Starts the time for retrying, unless it runs already.
    mutating func begin(now: MonotonicTime) {
        guard length > Interval(nanoseconds: 0) else { return }
        end = end ?? now + length
    }

    /// Notes progress, so that the time for retrying starts again at the next loss.
    mutating func progressed() {
        end = nil
        backoff.reset()
    }

    /// Notes a lost connection.
    ///
    /// - Parameter hold: the least time to wait.
    /// - Returns: how long to wait before the next attempt; nil if no time is left for one.
    mutating func lost(
        _ hold: Interval, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> Interval? {
        begin(now: now)
        let interval = max(hold, backoff.next(using: &generator))
        guard let end, now + interval < end else { return nil }
        return interval
    }

    /// The most time that an attempt may take.
    ///
    /// - Parameter others: the number of further attempts that need an equal share of the time.
    /// - Returns: nil for the normal deadline.
    func share(with others: Int, now: MonotonicTime) -> Interval? {
        end.map { Interval(nanoseconds: max(0, ($0 - now).nanoseconds) / Int64(max(0, others) + 1)) }
    }

    /// Seconds since the time for retrying started.
    func tried(now: MonotonicTime) -> Double {
        guard let end else { return 0 }
        return max(0, length.seconds - (end - now).seconds)
    }
}
