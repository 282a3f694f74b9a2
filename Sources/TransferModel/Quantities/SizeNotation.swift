/// Sizes in flags: `500`, `10M`, `1.5G`, `4GiB`, `10MB`.
///
/// `K`, `M`, `G`, `T` and `KiB`, `MiB`, `GiB`, `TiB` are powers of 1024, as in coreutils; `KB`, `MB`, `GB`, `TB` are
/// powers of 1000. Case doesn't matter; `B` alone means bytes. Fractions of a byte are dropped.
package enum SizeNotation {
    /// Largest size: file offsets are signed 64-bit numbers (`off_t`).
    package static let largest = UInt64(Int64.max)

    /// Digits of a fraction that are read. Further digits are worth less than a byte, and 10^18 times the largest unit
    /// fits into 128 bits.
    private static let fractionDigits = 18

    /// The notation, as a sentence for users.
    package static let description =
        "Sizes are bytes, or a number with K, M, G, T or KiB, MiB, GiB, TiB (powers of 1024) or KB, MB, GB, TB (powers "
        + "of 1000), such as 500, 64K or 1.5G."

    /// Reads a size and returns it in bytes, at most `largest`.
    package static func bytes(_ text: String) throws(QuantityFault) -> UInt64 {
        let quantity = try QuantityText(text)
        guard let factor = factor(of: quantity.unit.lowercased()) else { throw .malformed }
        let part = fraction(quantity.fraction, of: factor)
        guard let whole = UInt64(quantity.whole) else { throw .tooLarge }
        let (product, hasOverflowed) = whole.multipliedReportingOverflow(by: factor)
        guard !hasOverflowed, product <= largest, part <= largest - product else { throw .tooLarge }
        return product + part
    }

    /// Writes a size that `bytes` reads, in the largest power of 1024 that leaves no fraction: `64K`.
    package static func text(_ bytes: UInt64) -> String {
        let unit = ["T", "G", "M", "K"].first { unit in
            factor(of: unit.lowercased()).map { bytes > 0 && bytes.isMultiple(of: $0) } ?? false
        }
        return unit.flatMap { unit in factor(of: unit.lowercased()).map { "\(bytes / $0)\(unit)" } } ?? "\(bytes)"
    }

    private static func factor(of unit: String) -> UInt64? {
        switch unit {
        case "", "b": 1
        case "k", "kib": 1 << 10
        case "m", "mib": 1 << 20
        case "g", "gib": 1 << 30
        case "t", "tib": 1 << 40
        case "kb": 1_000
        case "mb": 1_000_000
        case "gb": 1_000_000_000
        case "tb": 1_000_000_000_000
        default: nil
        }
    }

    private static func fraction(_ digits: Substring, of factor: UInt64) -> UInt64 {
        var numerator: UInt128 = 0
        var denominator: UInt128 = 1
        for digit in digits.prefix(fractionDigits) {
            numerator = numerator * 10 + UInt128(digit.wholeNumberValue ?? 0)
            denominator *= 10
        }
        return UInt64(numerator * UInt128(factor) / denominator)
    }
}

extension UInt64 {
    /// The sum, or `UInt64.max` if it overflows.
    package func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
