import TransferModel

/// When a receipt was made: UTC to the millisecond.
public struct ReceiptTime: Hashable, Sendable {
    /// Since 1970-01-01 00:00, leap seconds not counted (POSIX).
    public let milliseconds: UInt64

    /// The last moment of the year 9999: RFC 3339 has no more digits.
    private static let last: UInt64 = 253_402_300_799_999

    /// - Returns: nothing for times beyond the year 9999.
    package init?(milliseconds: UInt64) {
        guard milliseconds <= Self.last else { return nil }
        self.milliseconds = milliseconds
    }

    /// Later times than there are become the last one.
    package init(clamping milliseconds: UInt64) {
        self.milliseconds = min(milliseconds, Self.last)
    }
}

extension ReceiptTime: CustomStringConvertible {
    /// As in RFC 3339, always with three digits behind the point: `2026-01-01T00:00:00.500Z`.
    public var description: String {
        String(decoding: ByteWriter.bytes(capacity: 24) { append(to: &$0) }, as: UTF8.self)
    }

    func append(to text: inout ByteWriter) {
        let (days, rest) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
        let (year, month, day) = Self.date(days)
        text.append(decimal: year, digits: 4)
        text.append("-")
        text.append(decimal: month, digits: 2)
        text.append("-")
        text.append(decimal: day, digits: 2)
        text.append("T")
        text.append(decimal: rest / 3_600_000, digits: 2)
        text.append(":")
        text.append(decimal: rest / 60_000 % 60, digits: 2)
        text.append(":")
        text.append(decimal: rest / 1_000 % 60, digits: 2)
        text.append(".")
        text.append(decimal: rest % 1_000, digits: 3)
        text.append("Z")
    }

    /// The Gregorian date that many days after 1970-01-01. Years are counted from March, so that the day that comes and
    /// goes is their last: then months follow one another as 31, 30, 31, 30, 31 days do.
    private static func date(_ days: UInt64) -> (year: UInt64, month: UInt64, day: UInt64) {
        // From 0000-03-01; 400 years have 146,097 days.
        let (era, day) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isAfterDecember = month >= 10
        return (
            era * 400 + year + (isAfterDecember ? 1 : 0), isAfterDecember ? month - 9 : month + 3,
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }
}

extension ReceiptTime {
    /// Reads what `description` writes; nothing for any other text.
    init?(_ text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count == 24 else { return nil }
        func number(_ range: Range<Int>) -> UInt64? { UInt64(String(decoding: digits[range], as: UTF8.self)) }
        guard let year = number(0..<4), let month = number(5..<7), let day = number(8..<10), let hour = number(11..<13),
            let minute = number(14..<16), let second = number(17..<19), let millisecond = number(20..<23),
            year >= 1970, (1...12).contains(month), day >= 1
        else { return nil }
        let shifted = month > 2 ? month - 3 : month + 9
        let from = month > 2 ? year : year - 1
        let days = 365 * from + from / 4 - from / 100 + from / 400 + (153 * shifted + 2) / 5 + day - 1
        guard days >= 719_468 else { return nil }
        let seconds = (days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second
        self.init(milliseconds: seconds * 1_000 + millisecond)
        // Days and hours that no calendar has come out as others, and what stands between the digits counts too.
        guard description.utf8.elementsEqual(digits) else { return nil }
    }
}
