extension Timestamp {
    /// How many decimals follow the seconds.
    package enum Precision: Sendable {
        case seconds
        /// Three decimals, even if they are zero.
        case milliseconds
        /// As many decimals as necessary, up to nine.
        case exact
    }

    /// The separators between the parts.
    package enum Form: Sendable {
        /// As in RFC 3339: `2026-12-31T23:59:59Z`.
        case standard
        /// The short form of ISO 8601: `20261231T235959Z`.
        case basic
        /// A form without colons, for file names: `2026-12-31T23-59-59Z`.
        case name

        fileprivate var separators: (date: StaticString, clock: StaticString) {
            switch self {
            case .standard: ("-", ":")
            case .basic: ("", "")
            case .name: ("-", "-")
            }
        }
    }

    /// The moment in UTC as text; from the year 0 to 9999, texts sort as the moments do.
    package func text(_ precision: Precision, _ form: Form = .standard) -> String {
        // A year has up to twelve digits and a sign; the other parts have at most 26 bytes.
        ByteWriter.string(capacity: 40) { text in
            text.append(CalendarTime(secondsSince1970: seconds), form)
            switch precision {
            case .seconds: break
            case .milliseconds: text.append(fraction: UInt64(nanoseconds) / 1_000_000, digits: 3)
            case .exact where nanoseconds > 0: text.append(nanoseconds: UInt64(nanoseconds))
            case .exact: break
            }
            text.append("Z")
        }
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ time: CalendarTime, _ form: Timestamp.Form) {
        let (date, clock) = form.separators
        if time.year < 0 { append("-") }
        append(decimal: time.year.magnitude, digits: 4)
        append(date)
        append(decimal: time.month.magnitude, digits: 2)
        append(date)
        append(decimal: time.day.magnitude, digits: 2)
        append("T")
        append(decimal: time.hour.magnitude, digits: 2)
        append(clock)
        append(decimal: time.minute.magnitude, digits: 2)
        append(clock)
        append(decimal: time.second.magnitude, digits: 2)
    }

    fileprivate mutating func append(fraction: UInt64, digits: Int) {
        append(".")
        append(decimal: fraction, digits: digits)
    }

    fileprivate mutating func append(nanoseconds: UInt64) {
        var (rest, digits) = (nanoseconds, 9)
        while rest.isMultiple(of: 10), digits > 1 { (rest, digits) = (rest / 10, digits - 1) }
        append(fraction: rest, digits: digits)
    }
}
