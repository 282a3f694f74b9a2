import TransferSystem

/// A moment on a clock that never goes back, in nanoseconds since a fixed start. State machines receive it as an
/// argument and never read the clock.
package struct MonotonicTime: Comparable, Hashable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The present time of the monotonic clock.
    package static var now: MonotonicTime { MonotonicTime(nanoseconds: monotonicNanoseconds()) }

    package static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Saturates instead of trapping, so that a huge interval can mean "never".
    package static func + (time: Self, interval: Interval) -> Self {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(interval.nanoseconds)
        return Self(nanoseconds: overflow ? (interval.nanoseconds < 0 ? .min : .max) : sum)
    }

    package static func - (a: Self, b: Self) -> Interval {
        let (difference, overflow) = a.nanoseconds.subtractingReportingOverflow(b.nanoseconds)
        return Interval(nanoseconds: overflow ? (a.nanoseconds < 0 ? .min : .max) : difference)
    }
}

/// A length of time, in nanoseconds.
package struct Interval: Comparable, Hashable, Sendable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// Converts seconds, including fractions. A value that overflows 64-bit nanoseconds becomes the largest interval.
    package static func seconds(_ value: Double) -> Interval {
        Interval(nanoseconds: Int64(exactly: (value * 1e9).rounded()) ?? (value < 0 ? .min : .max))
    }

    package static func milliseconds(_ value: Int64) -> Interval {
        let (product, overflow) = value.multipliedReportingOverflow(by: 1_000_000)
        return Interval(nanoseconds: overflow ? (value < 0 ? .min : .max) : product)
    }

    package var seconds: Double { Double(nanoseconds) / 1e9 }

    package static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }
}
