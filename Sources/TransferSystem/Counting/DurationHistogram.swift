/// A histogram of durations, for any thread. A reader may see a duration that is just being added in the count but not
/// yet in the sum.
package final class DurationHistogram: Sendable {
    /// The contents at one moment.
    package struct Reading: Sendable {
        /// For each bucket, its upper bound in seconds and the number of durations up to that bound.
        package let buckets: [(bound: Double, count: UInt64)]
        package let count: UInt64
        /// The sum of all durations in seconds.
        package let sum: Double
    }

    /// Bounds in seconds, from the time of a small file on a fast disk to that of a large file on a slow line.
    package static let bounds = [
        0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800,
    ]

    private static let nanoseconds = bounds.map { Int64($0 * 1e9) }

    /// One counter for each bound, and one for longer durations.
    private let counters = (0...bounds.count).map { _ in Counter() }
    private let sum = Counter()

    package init() {}

    /// - Parameter duration: nanoseconds; negative ones count as zero.
    package func add(_ duration: Int64) {
        let bucket = Self.nanoseconds.firstIndex { duration <= $0 } ?? Self.bounds.count
        counters[bucket].add()
        sum.add(UInt64(max(0, duration)))
    }

    package var reading: Reading {
        let seconds = Double(sum.value) / 1e9
        var total: UInt64 = 0
        var buckets: [(bound: Double, count: UInt64)] = []
        for (index, counter) in counters.enumerated() {
            total &+= counter.value
            if index < Self.bounds.count { buckets.append((Self.bounds[index], total)) }
        }
        return Reading(buckets: buckets, count: total, sum: seconds)
    }
}
