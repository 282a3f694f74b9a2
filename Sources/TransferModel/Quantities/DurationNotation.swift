/// How times are written in flags: `500ms`, `20s`, `5m`, `2h`, `7d`; a plain number means seconds.
package enum DurationNotation {
    /// 10,000 days: beyond any use, and far below where counts of nanoseconds overflow.
    package static let longest = 10_000.0 * 86_400

    /// The time in seconds, at most `longest`.
    package static func seconds(_ text: String) throws(QuantityFault) -> Double {
        let quantity = try QuantityText(text)
        guard let factor = factor(of: quantity.unit) else { throw .malformed }
        guard let number = Double("\(quantity.whole).\(quantity.fraction)0") else { throw .malformed }
        let seconds = number * factor
        guard seconds <= longest else { throw .tooLarge }
        return seconds
    }

    private static func factor(of unit: Substring) -> Double? {
        switch unit {
        case "ms": 0.001
        case "", "s": 1
        case "m": 60
        case "h": 3_600
        case "d": 86_400
        default: nil
        }
    }
}
