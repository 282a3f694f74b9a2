import Glibc
import TransferSystem

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
    package static var now: UTCTime { UTCTime(clamping: utcNanoseconds() / 1_000_000_000) }

    package static func < (a: UTCTime, b: UTCTime) -> Bool { a.seconds < b.seconds }

    /// So many seconds later, as far as times go.
    package func advanced(bySeconds count: Int64) -> UTCTime {
        UTCTime(clamping: seconds.addingReportingOverflow(min(max(-Self.last, count), Self.last)).partialValue)
    }
}

extension UTCTime {
    /// Reads `2026-12-31T23:59:59Z`, or `2026-12-31` for the beginning of that day; nothing else (RFC 3339).
    package init?(_ text: String) {
        let digits = Array(text.utf8.count == 10 ? "\(text)T00:00:00Z".utf8 : text.utf8)
        guard digits.count == 20 else { return nil }
        func number(_ range: Range<Int>) -> Int32? { Int32(String(decoding: digits[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), year >= 1970
        else { return nil }
        var calendar = tm()
        (calendar.tm_year, calendar.tm_mon, calendar.tm_mday) = (year - 1900, month - 1, day)
        (calendar.tm_hour, calendar.tm_min, calendar.tm_sec) = (hour, minute, second)
        self.init(clamping: Int64(timegm(&calendar)))
        // Days and hours that no calendar has come out as others, and what stands between the digits counts too.
        guard description.utf8.elementsEqual(digits) else { return nil }
    }
}

extension UTCTime: CustomStringConvertible {
    /// As in RFC 3339: `2026-12-31T23:59:59Z`.
    package var description: String {
        var time = time_t(seconds)
        var calendar = tm()
        gmtime_r(&time, &calendar)
        let date = [(calendar.tm_year + 1900, 4), (calendar.tm_mon + 1, 2), (calendar.tm_mday, 2)]
        let clock = [(calendar.tm_hour, 2), (calendar.tm_min, 2), (calendar.tm_sec, 2)]
        return date.map(Self.padded).joined(separator: "-") + "T" + clock.map(Self.padded).joined(separator: ":") + "Z"
    }

    private static func padded(_ number: Int32, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

/// A moment in UTC as seconds and nanoseconds since 1970 (POSIX `struct timespec`).
package struct Timestamp: Equatable, Sendable {
    package var seconds: Int64
    /// 0 to 999,999,999.
    package var nanoseconds: UInt32

    package init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}
