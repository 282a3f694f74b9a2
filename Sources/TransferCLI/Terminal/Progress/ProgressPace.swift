internal import TransferModel

/// Decides when the next line is due. The first is due at once, and each other one after an interval.
struct ProgressPace {
    private let interval: Interval
    private var next: MonotonicTime?

    init(interval: Interval) {
        self.interval = interval
    }

    /// - Returns: true at most once per interval.
    mutating func isDue(at time: MonotonicTime) -> Bool {
        if let next, time < next { return false }
        next = time + interval
        return true
    }
}
