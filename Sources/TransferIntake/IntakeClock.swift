import TransferSystem

/// The time, as the intake is told it.
package struct IntakeClock: Sendable {
    /// Nanoseconds that only grow.
    package let monotonic: @Sendable () -> Int64

    /// UTC, in nanoseconds since 1970.
    package let utc: @Sendable () -> Int64

    /// This machine's.
    package static let system = IntakeClock(monotonic: monotonicNanoseconds, utc: utcNanoseconds)

    package init(monotonic: @escaping @Sendable () -> Int64, utc: @escaping @Sendable () -> Int64) {
        (self.monotonic, self.utc) = (monotonic, utc)
    }
}
