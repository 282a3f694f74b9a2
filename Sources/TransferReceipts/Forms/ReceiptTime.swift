import TransferModel

/// Time of a receipt in UTC, to the millisecond.
public struct ReceiptTime: Hashable, Sendable {
    /// Milliseconds since 1970-01-01 00:00, without leap seconds (POSIX).
    public let milliseconds: UInt64

    /// The last millisecond of the year 9999, since years in RFC 3339 have four digits.
    private static let last: UInt64 = 253_402_300_799_999

    /// - Returns: nil for times beyond the year 9999.
    package init?(milliseconds: UInt64) {
        guard milliseconds <= Self.last else { return nil }
        self.milliseconds = milliseconds
    }

    /// Clamps later times to the last one.
    package init(clamping milliseconds: UInt64) {
        self.milliseconds = min(milliseconds, Self.last)
    }
}

extension ReceiptTime: CustomStringConvertible {
    /// RFC 3339 with always three decimals: `2026-01-01T00:00:00.500Z`.
    public var description: String {
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return Timestamp(seconds: Int64(seconds), nanoseconds: UInt32(rest) * 1_000_000).text(.milliseconds)
    }

    /// Reads the text of `description`; nil for any other text.
    init?(_ text: some StringProtocol) {
        guard let time = WrittenTime(text), time.precision == .fraction(digits: 3), time.isUTC,
            let seconds = UInt64(exactly: time.calendar.secondsSince1970)
        else { return nil }
        self.init(milliseconds: seconds * 1_000 + UInt64(time.nanoseconds / 1_000_000))
    }
}
