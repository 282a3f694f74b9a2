import TransferModel

/// How long it is tried to reach a server, and how often: with growing waits, for so long since the first loss after the last
/// progress, or since the first try, where that is to be patient about as well.
struct Patience {
    private let length: Interval
    private var backoff = Backoff()
    /// When it is over; nothing before there is anything to be patient about.
    private var end: MonotonicTime?

    /// - Parameter seconds: for which it is tried; with none of them once, for as long as one attempt takes.
    init(seconds: Double) {
        length = .seconds(seconds)
    }

    /// It is tried from here on, unless it is already.
    mutating func begin(now: MonotonicTime) {
        guard length > Interval(nanoseconds: 0) else { return }
        end = end ?? now + length
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
        begin(now: now)
        let interval = max(hold, backoff.next(using: &generator))
        guard let end, now + interval < end else { return nil }
        return interval
    }

    /// What an attempt may take.
    ///
    /// - Parameter others: that are to have their share of the time as well.
    /// - Returns: nothing where it may take as long as any does.
    func share(with others: Int, now: MonotonicTime) -> Interval? {
        end.map { Interval(nanoseconds: max(0, ($0 - now).nanoseconds) / Int64(max(0, others) + 1)) }
    }

    /// Seconds since it began.
    func tried(now: MonotonicTime) -> Double {
        guard let end else { return 0 }
        return max(0, length.seconds - (end - now).seconds)
    }
}
