/// A time in the extended form of ISO 8601, which includes RFC 3339: a date such as `2026-01-31`, or a date and a time
/// of day such as `2026-01-31T18:30`, `2026-01-31T18:30:05` or `2026-01-31T18:30:05.250`, with an optional `Z`. Letters
/// are upper case; other zones are refused.
package struct WrittenTime: Equatable, Sendable {
    /// The last part that the text contains.
    package enum Precision: Equatable, Sendable {
        case day, minute, second
        /// Decimals of the second, with their number.
        case fraction(digits: Int)
    }

    package let calendar: CalendarTime
    /// Nanoseconds of the second, 0 to 999,999,999.
    package private(set) var nanoseconds: UInt32 = 0
    package private(set) var precision = Precision.day
    /// Whether the text ends with `Z`.
    package private(set) var isUTC = false

    /// - Returns: nil for any other text, and for an impossible day or time.
    package init?(_ text: some StringProtocol) {
        var reader = Reader(Array(text.utf8))
        guard let year = reader.number(4), let month = reader.number(2, after: "-"),
            let day = reader.number(2, after: "-")
        else { return nil }
        var (hour, minute, second): (Int64, Int64, Int64) = (0, 0, 0)
        if !reader.isAtEnd {
            guard let hours = reader.number(2, after: "T"), let minutes = reader.number(2, after: ":") else {
                return nil
            }
            (hour, minute, precision) = (hours, minutes, .minute)
            if reader.isNext(":") {
                guard let seconds = reader.number(2, after: ":") else { return nil }
                (second, precision) = (seconds, .second)
                if reader.isNext(".") {
                    guard let fraction = reader.fraction() else { return nil }
                    (nanoseconds, precision) = (fraction.nanoseconds, .fraction(digits: fraction.digits))
                }
            }
            isUTC = reader.take("Z")
        }
        guard reader.isAtEnd,
            let time = CalendarTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        calendar = time
    }
}

private struct Reader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    func isNext(_ sign: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: sign) }

    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        guard isNext(sign) else { return false }
        rest.removeFirst()
        return true
    }

    /// Reads a number with exactly `count` digits.
    mutating func number(_ count: Int, after sign: Unicode.Scalar? = nil) -> Int64? {
        if let sign { guard take(sign) else { return nil } }
        let digits = rest.prefix(count)
        rest = rest.dropFirst(count)
        guard digits.count == count, digits.allSatisfy(Self.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }

    /// Reads the point and one to nine decimals.
    mutating func fraction() -> (nanoseconds: UInt32, digits: Int)? {
        let digits = rest.dropFirst().prefix(while: Self.isDigit).count
        guard (1...9).contains(digits), let number = number(digits, after: ".") else { return nil }
        return (UInt32(number) * (digits..<9).reduce(1) { factor, _ in factor * 10 }, digits)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
