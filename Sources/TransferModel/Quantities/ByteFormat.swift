/// Sizes and rates as text for users. Units are decimal, as on the labels of disks and networks.
package enum ByteFormat {
    private static let units = ["B", "KB", "MB", "GB", "TB", "PB", "EB"]

    /// A size, such as `512 B`, `2.4 MB` or `110 GB`.
    package static func size(_ bytes: UInt64) -> String {
        let unit = unit(for: bytes)
        return "\(number(bytes, in: unit)) \(units[unit])"
    }

    /// A part and the whole, both in the unit of the whole, such as `12.3 of 27.1 MB`.
    package static func portion(_ part: UInt64, of whole: UInt64) -> String {
        "\(number(part, in: unit(for: whole))) of \(size(whole))"
    }

    /// A rate, such as `1.2 GB/s`. NaN and negative rates count as zero.
    package static func rate(_ bytesPerSecond: Double) -> String {
        size(UInt64(exactly: max(0, bytesPerSecond).rounded()) ?? (bytesPerSecond > 0 ? .max : 0)) + "/s"
    }

    /// The part in percent. It is rounded down, so that 100 means all of the whole; for 0 of 0 it is 100.
    package static func percent(_ part: UInt64, of whole: UInt64) -> Int {
        guard part < whole else { return 100 }
        return Int(UInt128(part) * 100 / UInt128(whole))
    }

    /// The largest unit in which the number, after rounding, is at least one.
    private static func unit(for bytes: UInt64) -> Int {
        units.indices.dropLast().first { rounded(bytes, by: factor(of: $0)) < 1_000 } ?? units.count - 1
    }

    private static func factor(of unit: Int) -> UInt64 { (0..<unit).reduce(1) { factor, _ in factor * 1_000 } }

    /// Three digits before the point, or one or two before it and one after it.
    private static func number(_ bytes: UInt64, in unit: Int) -> String {
        guard unit > 0 else { return "\(bytes)" }
        let tenths = rounded(bytes, by: factor(of: unit) / 10)
        return tenths < 1_000 ? "\(tenths / 10).\(tenths % 10)" : "\(rounded(bytes, by: factor(of: unit)))"
    }

    private static func rounded(_ value: UInt64, by divisor: UInt64) -> UInt64 {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return quotient + (remainder >= divisor - remainder ? 1 : 0)
    }
}

extension Double {
    /// The number with this many decimals, as `printf` writes it, but without Foundation.
    package func shown(decimals: Int) -> String {
        guard isFinite, abs(self) < 1e15 else { return String(self) }
        let scale = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
        let scaled = Int64((self * scale).rounded())
        let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int64(scale))
        let digits = String(abs(fraction))
        return "\(whole)." + String(repeating: "0", count: max(0, decimals - digits.count)) + digits
    }
}
