extension Double {
    /// With that many digits behind the point; `printf` without Foundation.
    package func shown(decimals: Int) -> String {
        guard isFinite, abs(self) < 1e15 else { return String(self) }
        let scale = (0..<decimals).reduce(1.0) { product, _ in product * 10 }
        let scaled = Int64((self * scale).rounded())
        let (whole, fraction) = scaled.quotientAndRemainder(dividingBy: Int64(scale))
        let digits = String(abs(fraction))
        return "\(whole)." + String(repeating: "0", count: max(0, decimals - digits.count)) + digits
    }
}
