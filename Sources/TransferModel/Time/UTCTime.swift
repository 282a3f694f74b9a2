/// A moment in UTC, to the second, as in access lists.
package struct UTCTime: Comparable, Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00, without leap seconds (POSIX).
    package let seconds: Int64

    /// The last second of the year 9999, because years in RFC 3339 have four digits.
    private static let last: Int64 = 253_402_300_799

    /// - Parameter seconds: clamped to the years 1970 to 9999.
    package init(clamping seconds: Int64) {
        self.seconds = min(max(0, seconds), Self.last)
    }

    /// The present time of the system's clock.
    package static var now: UTCTime { UTCTime(clamping: Timestamp.now.seconds) }

    package static func < (a: UTCTime, b: UTCTime) -> Bool { a.seconds < b.seconds }

    /// The time that is `count` seconds later, clamped to the range.
    package func advanced(bySeconds count: Int64) -> UTCTime {
        UTCTime(clamping: seconds.addingReportingOverflow(min(max(-Self.last, count), Self.last)).partialValue)
    }
}

extension UTCTime: CustomStringConvertible {
    /// Reads `2026-12-31T23:59:59Z`, or `2026-12-31` for the beginning of that day (RFC 3339); nil for any other text.
    package init?(_ text: String) {
        guard let time = WrittenTime(text), time.precision == .day || time.precision == .second && time.isUTC,
            time.calendar.year >= 1970
        else { return nil }
        self.init(clamping: time.calendar.secondsSince1970)
    }

    /// As in RFC 3339: `2026-12-31T23:59:59Z`.
    package var description: String { Timestamp(seconds: seconds, nanoseconds: 0).text(.seconds) }
}
