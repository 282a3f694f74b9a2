internal import TransferModel

/// Says when it is time for another line: at once, and then every so often.
struct ProgressPace {
    private let interval: Interval
    private var next: MonotonicTime?

    init(interval: Interval) {
        self.interval = interval
    }

    /// - Returns: true at most once in the interval.
    mutating func isDue(at time: MonotonicTime) -> Bool {
        if let next, time < next { return false }
        next = time + interval
        return true
    }
}
