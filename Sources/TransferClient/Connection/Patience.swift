import TransferModel

/// How long it is tried to reach a server again, and how often: with growing waits, for so long since the first loss after the
/// last progress. Before that there was nothing to be patient about.
struct Patience {
    private let length: Interval
    private var backoff = Backoff()
    /// When it is over; nothing before the first loss.
    private var end: MonotonicTime?

    /// - Parameter seconds: for which it is tried.
    init(seconds: Double) {
        length = .seconds(seconds)
    }

    /// Something got further: from here it begins anew.
    mutating func progressed() {
        end = nil
        backoff.reset()
    }

    /// A connection was lost.
    ///
    /// - Parameter hold: to be waited at least.
    /// - Returns: how long to wait before the next attempt; nothing when there is no time left for one.
    mutating func lost(
        _ hold: Interval, now: MonotonicTime, using generator: inout some RandomNumberGenerator
    ) -> Interval? {
        let end = end ?? now + length
        self.end = end
        let interval = max(hold, backoff.next(using: &generator))
        return now + interval < end ? interval : nil
    }

    /// Seconds since the first loss after the last progress.
    func tried(now: MonotonicTime) -> Double {
        guard let end else { return 0 }
        return max(0, length.seconds - (end - now).seconds)
    }
}
