/// Durations as text for users.
package enum DurationFormat {
    /// The longest time that is shown, 999:59:59. A longer time is shown as this one.
    private static let longest = 999.0 * 3_600 + 59 * 60 + 59

    /// Hours, minutes and seconds, such as `0:07` or `1:02:03`; fractions are dropped.
    package static func clock(_ seconds: Double) -> String {
        let total = Int(min(max(0, seconds.isNaN ? 0 : seconds), longest))
        let (minutes, hours) = (total / 60 % 60, total / 3_600)
        return (hours > 0 ? "\(hours):\(twoDigits(minutes))" : "\(minutes)") + ":\(twoDigits(total % 60))"
    }

    /// The time until an event, such as `in 0:07`; `at once` for less than a second.
    package static func after(_ seconds: Double) -> String { seconds >= 1 ? "in \(clock(seconds))" : "at once" }

    /// The time, rounded down, in the largest unit of which it has at least two, such as `7 days`.
    package static func words(_ seconds: UInt32) -> String {
        let units: [(seconds: UInt32, name: String)] = [(86_400, "days"), (3_600, "hours"), (60, "minutes")]
        let unit = units.first { seconds >= 2 * $0.seconds } ?? (1, "seconds")
        return "\(seconds / unit.seconds) \(unit.name)"
    }

    private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
