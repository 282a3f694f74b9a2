/// A moment to the second in UTC, as it stands in lists of who may come in.
package struct UTCTime: Comparable, Hashable, Sendable {
    /// Since 1970-01-01 00:00, leap seconds not counted (POSIX).
    package let seconds: Int64

    /// The last second of the year 9999: RFC 3339 has no more digits.
    private static let last: Int64 = 253_402_300_799

    /// - Parameter seconds: times before 1970 and after 9999 become the first and the last that there is.
    package init(clamping seconds: Int64) {
        self.seconds = min(max(0, seconds), Self.last)
    }

    /// The system's clock.
    package static var now: UTCTime { UTCTime(clamping: Timestamp.now.seconds) }

    package static func < (a: UTCTime, b: UTCTime) -> Bool { a.seconds < b.seconds }

    /// So many seconds later, as far as times go.
    package func advanced(bySeconds count: Int64) -> UTCTime {
        UTCTime(clamping: seconds.addingReportingOverflow(min(max(-Self.last, count), Self.last)).partialValue)
    }
}

extension UTCTime: CustomStringConvertible {
    /// Reads `2026-12-31T23:59:59Z`, or `2026-12-31` for the beginning of that day; nothing else (RFC 3339).
    package init?(_ text: String) {
        guard let time = WrittenTime(text), time.precision == .day || time.precision == .second && time.isUTC,
            time.calendar.year >= 1970
        else { return nil }
        self.init(clamping: time.calendar.secondsSince1970)
    }

    /// As in RFC 3339: `2026-12-31T23:59:59Z`.
    package var description: String { Timestamp(seconds: seconds, nanoseconds: 0).text(.seconds) }
}
