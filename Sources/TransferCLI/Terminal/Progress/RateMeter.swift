internal import Glibc
internal import TransferModel

/// A smoothed rate: an average in which bytes that are `timeConstant` seconds old have about a third of the weight of
/// new ones.
struct RateMeter: Sendable {
    /// Seconds. Long enough for steady digits, short enough to show a stuck connection within seconds.
    static let timeConstant = 3.0

    private var start: MonotonicTime
    private var latest: MonotonicTime
    private var bytes: UInt64
    private var weightedSum = 0.0

    /// Starts to measure.
    ///
    /// - Parameter bytes: bytes that do not count for the rate because they were done before, such as those of an
    ///   earlier attempt.
    init(bytes: UInt64 = 0, at time: MonotonicTime) {
        start = time
        latest = time
        self.bytes = bytes
    }

    /// Records the total number of bytes. Must be called regularly, even without progress, so that the rate falls. A
    /// smaller total, as after a restart at an earlier offset, counts as no progress.
    mutating func record(bytes total: UInt64, at time: MonotonicTime) {
        let elapsed = (time - latest).seconds
        guard elapsed > 0 else { return }
        let progress = total > bytes ? Double(total - bytes) : 0
        let decay = exp(-elapsed / Self.timeConstant)
        weightedSum = weightedSum * decay + progress / elapsed * (1 - decay)
        latest = time
        bytes = total
    }

    /// The smoothed rate; zero at the start.
    var bytesPerSecond: Double {
        let elapsed = (latest - start).seconds
        guard elapsed > 0 else { return 0 }
        // The average starts at zero, which would make the rate look low in the first seconds. So it is divided by the
        // weight of the time that was measured.
        return weightedSum / (1 - exp(-elapsed / Self.timeConstant))
    }

    /// Seconds that the remaining bytes take at this rate; nil if the rate is unknown.
    func secondsLeft(forBytes remaining: UInt64) -> Double? {
        let rate = bytesPerSecond
        return rate >= 1 ? Double(remaining) / rate : nil
    }
}
