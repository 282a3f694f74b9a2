internal import Glibc
internal import TransferModel

/// How fast something goes, smoothed so that people can read it: an average in which what lies `timeConstant` seconds
/// back counts about a third of what is new.
struct RateMeter: Sendable {
    /// Long enough for calm digits, short enough to show within seconds that a connection is stuck.
    static let timeConstant = 3.0

    private var start: MonotonicTime
    private var latest: MonotonicTime
    private var bytes: UInt64
    private var weightedSum = 0.0

    /// Starts to measure.
    ///
    /// - Parameter bytes: Those that are there already and count for no rate, such as those of an earlier attempt.
    init(bytes: UInt64 = 0, at time: MonotonicTime) {
        start = time
        latest = time
        self.bytes = bytes
    }

    /// Takes the number of bytes so far. To be called regularly, also when nothing has come: that is what makes the
    /// rate fall. A number below the one before, as after a restart from an earlier offset, counts as no progress.
    mutating func record(bytes total: UInt64, at time: MonotonicTime) {
        let elapsed = (time - latest).seconds
        guard elapsed > 0 else { return }
        let progress = total > bytes ? Double(total - bytes) : 0
        let decay = exp(-elapsed / Self.timeConstant)
        weightedSum = weightedSum * decay + progress / elapsed * (1 - decay)
        latest = time
        bytes = total
    }

    /// The smoothed rate; zero until some time has passed.
    var bytesPerSecond: Double {
        let elapsed = (latest - start).seconds
        guard elapsed > 0 else { return 0 }
        // The average starts at zero, which would make the first seconds look slow: divide by the weight seen so far.
        return weightedSum / (1 - exp(-elapsed / Self.timeConstant))
    }

    /// Seconds that the rest takes at this rate, or nothing when that can't be told.
    func secondsLeft(forBytes remaining: UInt64) -> Double? {
        let rate = bytesPerSecond
        return rate >= 1 ? Double(remaining) / rate : nil
    }
}
