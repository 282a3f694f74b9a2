/// A day of the Gregorian calendar, also for dates before its introduction, and a time of that day. The caller knows
/// the time zone.
package struct CalendarTime: Equatable, Sendable {
    package let year: Int64
    package let month: Int64
    package let day: Int64
    package let hour: Int64
    package let minute: Int64
    package let second: Int64

    private static let daySeconds: Int64 = 86_400

    /// Days from 0000-03-01 to 1970-01-01. Years are counted from March, so that a leap day is the last day of a year
    /// and the lengths of months repeat as 31, 30, 31, 30, 31.
    private static let shift: Int64 = 719_468

    /// Days in 400 years, after which the calendar repeats.
    private static let era: Int64 = 146_097

    /// Calendar time of any moment in UTC.
    ///
    /// - Parameter seconds: since 1970-01-01 00:00, without leap seconds (POSIX).
    package init(secondsSince1970 seconds: Int64) {
        let (days, rest) = Self.split(seconds, Self.daySeconds)
        let (era, day) = Self.split(days + Self.shift, Self.era)
        let yearOfEra = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365
        let dayOfYear = day - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60)
    }

    /// - Returns: nil for an impossible date or time. Leap seconds are not accepted.
    package init?(
        year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0
    ) {
        guard (0...9999).contains(year), (1...12).contains(month), (1...31).contains(day), (0..<24).contains(hour),
            (0..<60).contains(minute), (0..<60).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
        // A day that the month doesn't have is converted to one in the next month.
        guard CalendarTime(secondsSince1970: secondsSince1970).day == day else { return nil }
    }

    /// Seconds since 1970-01-01 00:00 if this time is UTC.
    package var secondsSince1970: Int64 {
        let (monthFromMarch, shifted) = month > 2 ? (month - 3, year) : (month + 9, year - 1)
        let (era, yearOfEra) = Self.split(shifted, 400)
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let days = era * Self.era + 365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - Self.shift
        // On the first day that 64 bits can express, the product overflows, and the sum is in range again for the day's
        // last hours.
        return days &* Self.daySeconds &+ (hour * 3_600 + minute * 60 + second)
    }

    /// Quotient and remainder; the remainder is never negative.
    private static func split(_ number: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = number.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
