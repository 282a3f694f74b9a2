import Glibc

/// The recent rate of something that grows: older amounts count less. Does no I/O; all times are nanoseconds of one clock.
struct RateEstimate {
    /// After this time an amount counts as 1/e: long enough for a number that can be read, short enough to show that nothing arrives.
    private static let memory = 2e9

    private let start: Int64
    private var last: Int64
    /// The rate at `last`, in bytes a second.
    private var value = 0.0

    init(start: Int64) {
        self.start = start
        last = start
    }

    mutating func add(_ bytes: UInt64, at now: Int64) {
        value = value * fading(until: now) + Double(bytes) * 1e9 / Self.memory
        last = max(last, now)
    }

    /// The rate in bytes a second.
    func rate(at now: Int64) -> Double {
        // Corrects for the time before the start, which `value` counts as a rate of 0.
        let share = 1 - exp(-Double(max(1, now - start)) / Self.memory)
        return value * fading(until: now) / share
    }

    private func fading(until now: Int64) -> Double { exp(-Double(max(0, now - last)) / Self.memory) }
}
