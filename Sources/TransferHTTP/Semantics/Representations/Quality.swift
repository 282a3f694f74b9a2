/// The weight of a preference in thousandths: `q=0.8` (RFC 9110, section 12.4.2).
struct Quality: Comparable {
    let thousandths: Int

    static let most = Quality(thousandths: 1000)

    private init(thousandths: Int) {
        self.thousandths = thousandths
    }

    /// - Returns: nil for any text but `0`, `0.123`, `1` and `1.000`, with up to three decimals.
    init?(_ text: some Collection<UInt8>) {
        let digits = Array(text)
        guard let first = digits.first, first == UInt8(ascii: "0") || first == UInt8(ascii: "1") else { return nil }
        let fraction = digits.dropFirst(2)
        guard digits.count == 1 || digits[1] == UInt8(ascii: "."), fraction.count <= 3,
            fraction.allSatisfy(HTTPCharacter.isDigit)
        else { return nil }
        let missing = repeatElement(UInt8(ascii: "0"), count: 3 - fraction.count)
        let sum = ([first] + fraction + missing).reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
        guard sum <= 1000 else { return nil }
        thousandths = sum
    }

    static func < (a: Self, b: Self) -> Bool { a.thousandths < b.thousandths }
}
