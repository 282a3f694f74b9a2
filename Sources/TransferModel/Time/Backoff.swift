/// The wait before the next attempt. It doubles after each attempt and has a random part, so that the clients of a
/// restarted server don't all reconnect at once.
package struct Backoff: Sendable {
    package let first: Interval
    package let longest: Interval
    private var attempts = 0

    package init(first: Interval = .milliseconds(100), longest: Interval = .seconds(5)) {
        self.first = first
        self.longest = longest
    }

    /// Returns the wait before the next attempt: a random time between half of the doubled wait and all of it.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Interval {
        let doubled = Double(first.nanoseconds) * Double(1 << min(attempts, 30))
        attempts += 1
        let ceiling = min(doubled, Double(longest.nanoseconds))
        let wait = Double.random(in: ceiling / 2...ceiling, using: &generator)
        return Interval(nanoseconds: Int64(exactly: wait.rounded(.down)) ?? .max)
    }

    /// Makes the next wait the first one again, after a successful attempt.
    package mutating func reset() {
        attempts = 0
    }
}
