internal import TransferModel

/// A moment, to the second, as in `Date` and `Last-Modified` (RFC 9110, section 5.6.7).
package struct HTTPDate: Comparable, Hashable, Sendable {
    /// Seconds since 1970-01-01 00:00 UTC, without leap seconds; years 0 to 9999, which have four digits.
    package let seconds: Int64

    private static let range: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// - Parameter seconds: clamped to the range.
    package init(clamping seconds: Int64) {
        self.seconds = min(max(Self.range.lowerBound, seconds), Self.range.upperBound)
    }

    package static func < (a: Self, b: Self) -> Bool { a.seconds < b.seconds }

    fileprivate static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

    fileprivate static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Day of the week; 0 for Monday.
    private var weekday: Int {
        let days = Int(seconds - Self.range.lowerBound) / 86_400
        // 0000-01-01 was a Saturday.
        return (days + 5) % 7
    }

    /// The form in which dates are sent, IMF-fixdate: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let time = CalendarTime(secondsSince1970: seconds)
        return ByteWriter.string(capacity: 29) { text in
            text.append(String(Self.weekdays[weekday].prefix(3)))
            text.append(", ")
            text.append(decimal: time.day.magnitude, digits: 2)
            text.append(" ")
            text.append(Self.months[Int(time.month) - 1])
            text.append(" ")
            text.append(decimal: time.year.magnitude, digits: 4)
            text.append(" ")
            text.append(decimal: time.hour.magnitude, digits: 2)
            text.append(":")
            text.append(decimal: time.minute.magnitude, digits: 2)
            text.append(":")
            text.append(decimal: time.second.magnitude, digits: 2)
            text.append(" GMT")
        }
    }
}

extension HTTPDate {
    /// Reads the three forms of the RFC: IMF-fixdate, RFC 850, and asctime. The case of names matters.
    ///
    /// - Parameter now: a two-digit year is interpreted so that it is at most 50 years after this date.
    /// - Returns: nil for any other text, an impossible day, or a wrong weekday.
    package init?(_ text: some Sequence<UInt8>, now: HTTPDate) {
        var reader = FieldReader(text)
        let name = reader.take(while: FieldSyntax.isLetter)
        let hasComma = reader.takeText(", ")
        let isLong = hasComma && Self.isDashed(reader)
        let found = isLong ? reader.rfc850(now) : hasComma ? reader.fixdate() : reader.asctime()
        guard let found, reader.isAtEnd, Self.range.contains(found) else { return nil }
        seconds = found
        let weekday = Self.weekdays[weekday].utf8
        guard name.elementsEqual(isLong ? weekday.prefix(9) : weekday.prefix(3)) else { return nil }
    }

    private static func isDashed(_ reader: FieldReader) -> Bool { reader.rest.dropFirst(2).first == UInt8(ascii: "-") }
}

extension FieldReader {
    private mutating func digits(_ count: Int) -> Int64? { take(count).flatMap { FieldSyntax.number($0) } }

    private mutating func month() -> Int64? {
        guard let name = take(3) else { return nil }
        return HTTPDate.months.firstIndex { name.elementsEqual($0.utf8) }.map { Int64($0) + 1 }
    }

    /// `06 Nov 1994 08:49:37 GMT`
    fileprivate mutating func fixdate() -> Int64? {
        guard let day = digits(2), take(" "), let month = month(), take(" "), let year = digits(4), take(" "),
            let clock = clock(), takeText(" GMT")
        else { return nil }
        return Self.seconds(year, month, day, clock)
    }

    /// The form of RFC 850: `06-Nov-94 08:49:37 GMT`
    fileprivate mutating func rfc850(_ now: HTTPDate) -> Int64? {
        guard let day = digits(2), take("-"), let month = month(), take("-"), let short = digits(2), take(" "),
            let clock = clock(), takeText(" GMT")
        else { return nil }
        let present = CalendarTime(secondsSince1970: now.seconds).year
        var year = present - present % 100 + short
        if year > present + 50 { year -= 100 }
        if year <= present - 50 { year += 100 }
        return Self.seconds(year, month, day, clock)
    }

    /// ` Nov  6 08:49:37 1994`
    fileprivate mutating func asctime() -> Int64? {
        guard take(" "), let month = month(), take(" "), let day = take(" ") ? digits(1) : digits(2), take(" "),
            let clock = clock(), take(" "), let year = digits(4)
        else { return nil }
        return Self.seconds(year, month, day, clock)
    }

    private typealias Clock = (hour: Int64, minute: Int64, second: Int64)

    private mutating func clock() -> Clock? {
        guard let hour = digits(2), take(":"), let minute = digits(2), take(":"), let second = digits(2) else {
            return nil
        }
        return (hour, minute, second)
    }

    /// Refuses leap seconds, for which POSIX has no number.
    private static func seconds(_ year: Int64, _ month: Int64, _ day: Int64, _ clock: Clock) -> Int64? {
        let time = CalendarTime(
            year: year, month: month, day: day, hour: clock.hour, minute: clock.minute, second: clock.second)
        return time?.secondsSince1970
    }
}
