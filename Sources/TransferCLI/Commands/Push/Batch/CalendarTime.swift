private import Glibc

/// A date with or without a time of day, as ISO 8601 writes it: `2026-01-31`, `2026-01-31T18:30`, `2026-01-31T18:30:05Z`. With
/// Z it is in UTC, otherwise local.
struct CalendarTime {
    /// Since 1970.
    let seconds: Int64

    /// - Returns: nothing when it is none, or no such day or time exists.
    init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        let isUTC = rest.last == UInt8(ascii: "Z") && rest.count > 11
        if isUTC { rest.removeLast() }
        var fields = tm()
        fields.tm_isdst = -1
        guard let year = Self.number(&rest, 4), let month = Self.number(&rest, 2, after: "-"),
            let day = Self.number(&rest, 2, after: "-")
        else { return nil }
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, month - 1, day)
        if !rest.isEmpty {
            guard let hour = Self.number(&rest, 2, after: "T"), let minute = Self.number(&rest, 2, after: ":") else {
                return nil
            }
            (fields.tm_hour, fields.tm_min) = (hour, minute)
            if !rest.isEmpty {
                guard let second = Self.number(&rest, 2, after: ":") else { return nil }
                fields.tm_sec = second
            }
        }
        guard rest.isEmpty else { return nil }
        // These make a date of everything; one that they had to change was none.
        let wanted = fields
        let time = isUTC ? timegm(&fields) : mktime(&fields)
        guard
            (fields.tm_mon, fields.tm_mday, fields.tm_min, fields.tm_sec)
                == (wanted.tm_mon, wanted.tm_mday, wanted.tm_min, wanted.tm_sec), (0..<24).contains(wanted.tm_hour)
        else { return nil }
        seconds = Int64(time)
    }

    private static func number(_ rest: inout ArraySlice<UInt8>, _ count: Int, after sign: Character? = nil) -> Int32? {
        if let sign { guard rest.popFirst() == sign.asciiValue else { return nil } }
        let digits = rest.prefix(count)
        rest = rest.dropFirst(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int32($1 - 0x30) }
    }
}
