import TransferSystem

/// A moment in UTC as seconds and nanoseconds since 1970, without leap seconds (POSIX `struct timespec`).
package struct Timestamp: Hashable, Sendable {
    package var seconds: Int64
    /// Nanoseconds of the second, 0 to 999,999,999.
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The present time of the system's clock.
    package static var now: Timestamp {
        let (seconds, rest) = utcNanoseconds().quotientAndRemainder(dividingBy: 1_000_000_000)
        return rest < 0
            ? Timestamp(seconds: seconds - 1, nanoseconds: UInt32(rest + 1_000_000_000))
            : Timestamp(seconds: seconds, nanoseconds: UInt32(rest))
    }
}
