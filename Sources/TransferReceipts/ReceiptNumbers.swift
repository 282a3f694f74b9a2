import Glibc
import Synchronization

/// Numbers for receipts: each is given once, and later ones are larger.
///
/// Nothing on disk is needed for that: a server starts with the microseconds since 1970 and counts up from there. It
/// would take more than a million receipts a second to count faster than the clock, so the next start begins above all
/// numbers that were given before, unless somebody has turned the clock back meanwhile. Numbers stay below 2^53 until
/// the year 2255, so that every reader of JSON can hold them.
package final class ReceiptNumbers: Sendable {
    private let next: Atomic<UInt64>

    /// - Parameter first: the first number to give, unless the clock says a larger one.
    package init(first: UInt64 = 0) {
        next = Atomic(max(first, ReceiptClock.microseconds()))
    }

    /// - Returns: the first of that many numbers in a row.
    package func take(_ count: Int) -> UInt64 {
        next.wrappingAdd(UInt64(count), ordering: .relaxed).oldValue
    }
}

/// The clock that receipts are dated by.
enum ReceiptClock {
    /// Since 1970; nothing when the clock is set before that.
    static func microseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        guard time.tv_sec >= 0 else { return 0 }
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec / 1_000)
    }
}
