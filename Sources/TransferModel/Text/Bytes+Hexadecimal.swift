extension [UInt8] {
    /// Reads what `String(hexadecimal:)` writes, also with large digits.
    package init?(hexadecimal text: some StringProtocol) {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = Hexadecimal.value(of: digits[index]), let low = Hexadecimal.value(of: digits[index + 1])
            else { return nil }
            append(high << 4 | low)
        }
    }
}
