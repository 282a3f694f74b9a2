/// Bytes as digits and small letters that cannot be confused, five bits each: the alphabet of Douglas Crockford's Base
/// 32 (crockford.com/base32.html), without i, l, o and u.
enum Base32 {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// - Parameter bytes: their number must be a multiple of five.
    static func encode(_ bytes: [UInt8]) -> String {
        // Trap: ids and secrets have a fixed number of random bytes, which is a multiple of five.
        precondition(bytes.count.isMultiple(of: 5), "five bytes are eight digits")
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 5) {
            let word = bytes[start..<start + 5].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            for shift in stride(from: 35, through: 0, by: -5) { text.append(digits[Int(word >> shift & 31)]) }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Whether the text consists only of digits of the alphabet.
    static func isEncoded(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy(digits.contains) }
}
