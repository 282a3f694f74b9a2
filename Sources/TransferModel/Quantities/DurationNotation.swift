/// Durations in flags: `500ms`, `20s`, `5m`, `2h`, `7d`; a plain number means seconds.
package enum DurationNotation {
    /// 10,000 days, which is longer than any use needs, and far below the time at which counts of nanoseconds overflow.
    package static let longest = 10_000.0 * 86_400

    /// The notation, as a sentence for users.
    package static let description =
        "Durations are seconds, or a number with ms, s, m, h or d, such as 500ms or 5m."

    /// Reads a time and returns it in seconds, at most `longest`.
    package static func seconds(_ text: String) throws(QuantityFault) -> Double {
        let quantity = try QuantityText(text)
        guard let factor = factor(of: quantity.unit) else { throw .malformed }
        guard let number = Double("\(quantity.whole).\(quantity.fraction)0") else { throw .malformed }
        let seconds = number * factor
        guard seconds <= longest else { throw .tooLarge }
        return seconds
    }

    /// Writes a time that `seconds` reads, in the largest unit of which it has at least two and no fraction: `90s`,
    /// `10m`, `7d`.
    ///
    /// - Parameter seconds: whole milliseconds, and no more than `longest`.
    package static func text(_ seconds: Double) -> String {
        let units = ["d", "h", "m", "s"]
        for unit in units {
            guard let factor = factor(of: Substring(unit)), seconds >= 2 * factor || unit == "s",
                let count = Int64(exactly: seconds / factor)
            else { continue }
            return "\(count)\(unit)"
        }
        return "\(Int64((min(max(0, seconds), longest) * 1_000).rounded()))ms"
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
