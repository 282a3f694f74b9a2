/// Hexadecimal digits: two for each byte, written in lower case, read in either case.
package enum Hexadecimal {
    /// Writes the digits of `bytes`.
    ///
    /// - Parameter place: memory for at least two digits per byte.
    package static func write(_ bytes: UnsafeRawBufferPointer, to place: UnsafeMutableRawBufferPointer) {
        // Trap: callers allocate this memory from the same number of bytes.
        precondition(place.count >= 2 * bytes.count, "no room for the digits")
        var index = 0
        while bytes.count - index >= 4 {
            let four = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt32.self))
            place.storeBytes(of: digits(of: four).bigEndian, toByteOffset: 2 * index, as: UInt64.self)
            index += 4
        }
        while index < bytes.count {
            let pair = UInt16(truncatingIfNeeded: digits(of: UInt32(bytes[index])))
            place.storeBytes(of: pair.bigEndian, toByteOffset: 2 * index, as: UInt16.self)
            index += 1
        }
    }

    /// The eight digits of a number, the first digit in the highest byte. All digits are converted at once, one in each
    /// byte of a word, because half of a receipt's text consists of digits.
    static func digits(of number: UInt32) -> UInt64 {
        var halves = UInt64(number)
        halves = (halves | halves << 16) & 0x0000_FFFF_0000_FFFF
        halves = (halves | halves << 8) & 0x00FF_00FF_00FF_00FF
        halves = (halves | halves << 4) & 0x0F0F_0F0F_0F0F_0F0F
        // 1 in each byte whose value is 10 or more. To these bytes 39 is added, because 39 other characters are between
        // "9" and "a".
        let letters = (halves &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return halves &+ 0x3030_3030_3030_3030 &+ letters &* 39
    }

    /// Value of an ASCII digit; nil for any other byte.
    package static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// The number with these 1 to 16 digits; nil for any other text.
    package static func number(_ digits: some Collection<UInt8>) -> UInt64? {
        guard (1...16).contains(digits.count) else { return nil }
        var number: UInt64 = 0
        for digit in digits {
            guard let value = value(of: digit) else { return nil }
            number = number << 4 | UInt64(value)
        }
        return number
    }
}

extension [UInt8] {
    /// Reads digits that `String(hexadecimal:)` writes, also in upper case; nil for any other text.
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
