/// Base64 (RFC 4648, section 4). OpenSSL is not used for it, because this target does not need OpenSSL otherwise and
/// fields are short.
package enum Base64Text {
    /// How strictly text is read.
    package enum Form: Sendable {
        /// Demands padding, and zeros in unused bits, so that each sequence of bytes has only one text.
        case exact
        /// Accepts missing padding and any unused bits, as RFC 9651 (section 4.2.7) demands.
        case lenient
    }

    private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static let padding = UInt8(ascii: "=")

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | UInt32($1) } << (8 * UInt32(3 - group.count))
            for place in 0..<4 {
                let digit = digits[Int(word >> (18 - 6 * UInt32(place)) & 0x3F)]
                text.append(place <= group.count ? digit : padding)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// - Returns: nil for any other text.
    package static func decode(_ text: some Collection<UInt8>, _ form: Form = .exact) -> [UInt8]? {
        let all = Array(text)
        let front = all.prefix { $0 != padding }
        let pads = all.count - front.count
        guard all[front.count...].allSatisfy({ $0 == padding }), front.count % 4 != 1 else { return nil }
        guard pads == (4 - front.count % 4) % 4 || form == .lenient && pads == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(front.count * 3 / 4)
        var (word, bits): (UInt32, UInt32) = (0, 0)
        for digit in front {
            guard let value = value(of: digit) else { return nil }
            (word, bits) = (word << 6 | UInt32(value), bits + 6)
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> bits))
            word &= 1 << bits - 1
        }
        return word == 0 || form == .lenient ? bytes : nil
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
