import Glibc

/// How fast something grows, of late: what was added counts the less the longer ago it was. Sans-IO; all times in
/// nanoseconds of one clock.
struct RateEstimate {
    /// What is so old counts as 1/e of what is new: long enough for a number that can be read, short enough to show that
    /// something stands still.
    private static let memory = 2e9

    private let start: Int64
    private var last: Int64
    /// Bytes a second.
    private var value = 0.0

    init(start: Int64) {
        self.start = start
        last = start
    }

    mutating func add(_ bytes: UInt64, at now: Int64) {
        value = value * fading(until: now) + Double(bytes) * 1e9 / Self.memory
        last = max(last, now)
    }

    /// Bytes a second.
    func rate(at now: Int64) -> Double {
        // Of what is younger than the memory nothing is lost yet.
        let share = 1 - exp(-Double(max(1, now - start)) / Self.memory)
        return value * fading(until: now) / share
    }

    private func fading(until now: Int64) -> Double { exp(-Double(max(0, now - last)) / Self.memory) }
}
