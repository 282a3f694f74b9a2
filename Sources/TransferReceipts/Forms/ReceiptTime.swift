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
        let (seconds, rest) = milliseconds.quotientAndRemainder(dividingBy: 1_000)
        return Timestamp(seconds: Int64(seconds), nanoseconds: UInt32(rest) * 1_000_000).text(.milliseconds)
    }

    /// Reads what `description` writes; nothing for any other text.
    init?(_ text: some StringProtocol) {
        guard let time = WrittenTime(text), time.precision == .fraction(digits: 3), time.isUTC,
            let seconds = UInt64(exactly: time.calendar.secondsSince1970)
        else { return nil }
        self.init(milliseconds: seconds * 1_000 + UInt64(time.nanoseconds / 1_000_000))
    }
}
